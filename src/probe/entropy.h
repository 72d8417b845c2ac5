#pragma once

#include <vector>

#include "probe/trace.h"

namespace residual::probe {

// The entropy of one attention block: -sum p log p over the keys a query may see, averaged over
// queries, for each head.
struct AttentionEntropy {
  Side side = Side::encoder;
  int block = 0;
  bool cross = false;
  std::vector<double> nats;
  // The entropy as a share of that of uniform attention; queries that see one key do not count.
  std::vector<double> relative;
};

// Computes the entropy of probabilities [sentence, head, query, key] padded with zeros.
AttentionEntropy entropy_of(const Tensor& probabilities, const ops::AttentionSpec& spec);

// Computes the entropy of every attention block of a traced pass, bottom to top. The probabilities
// are recomputed from the blocks' inputs and weights.
std::vector<AttentionEntropy> measure_entropy(const nn::Parameters& parameters,
                                              const std::vector<StackTrace>& stacks,
                                              const nn::ModelBatch& batch);

}  // namespace residual::probe
