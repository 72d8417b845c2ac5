#pragma once

#include <vector>

#include "probe/trace.h"

namespace residual::probe {

// How widely one attention block looks: -sum p log p over the keys a query may see, averaged over
// queries, for each head.
struct AttentionEntropy {
  Side side = Side::encoder;
  int block = 0;
  bool cross = false;
  std::vector<double> nats;
  // As a share of the entropy of looking everywhere equally; queries that see one key do not count.
  std::vector<double> relative;
};

// Of probabilities [sentence, head, query, key] padded with zeros.
AttentionEntropy entropy_of(const Tensor& probabilities, const ops::AttentionSpec& spec);

// Of every attention block of a traced pass, bottom to top. The probabilities are computed anew
// from the blocks' inputs and weights.
std::vector<AttentionEntropy> measure_entropy(const nn::Parameters& parameters,
                                              const std::vector<StackTrace>& stacks,
                                              const nn::Batch& batch);

}  // namespace residual::probe
