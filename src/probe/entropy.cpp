#include "probe/entropy.h"

#include <cmath>

#include "nn/blocks.h"
#include "ops/attention.h"

namespace residual::probe {
namespace {

using Kind = nn::BlockWeights::Kind;

// Sums over the queries of one sentence, by head.
struct HeadSums {
  std::vector<double> nats, relative;
  int64_t queries = 0, choosing = 0;  // choosing: queries that see more than one key
};

void add_sentence(HeadSums& sums, const Tensor& p, const ops::AttentionSpec& spec, int64_t s) {
  const int64_t queries = spec.queries.length(s), keys = spec.keys.length(s);
  const Tensor seen = p[s].narrow(1, 0, queries).narrow(2, 0, keys).to(at::kDouble);
  const Tensor entropy = -at::xlogy(seen, seen).sum(2).contiguous();  // [head, query]
  sums.queries += queries;
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t visible = spec.visibility == ops::Visibility::causal ? q + 1 : keys;
    if (visible > 1) ++sums.choosing;
    for (size_t h = 0; h < sums.nats.size(); ++h) {
      const double nats = entropy.data_ptr<double>()[static_cast<int64_t>(h) * queries + q];
      sums.nats[h] += nats;
      if (visible > 1) sums.relative[h] += nats / std::log(static_cast<double>(visible));
    }
  }
}

AttentionEntropy measure_block(const nn::BlockWeights& w, const nn::StackInput& input,
                               const Tensor& x, const Tensor& memory,
                               const ops::AttentionSpec& spec) {
  const nn::Projections p = nn::project(w, input, x, memory);
  Tensor probabilities;
  ops::reference::attention(p.queries, p.keys, p.values, spec, &probabilities);
  return entropy_of(probabilities, spec);
}

}  // namespace

AttentionEntropy entropy_of(const Tensor& probabilities, const ops::AttentionSpec& spec) {
  const auto heads = static_cast<size_t>(spec.heads);
  HeadSums sums{.nats = std::vector<double>(heads), .relative = std::vector<double>(heads)};
  for (int64_t s = 0; s < spec.queries.count(); ++s) add_sentence(sums, probabilities, spec, s);
  AttentionEntropy mean;
  for (size_t h = 0; h < heads; ++h) {
    mean.nats.push_back(sums.nats[h] / static_cast<double>(sums.queries));
    mean.relative.push_back(sums.relative[h] / static_cast<double>(sums.choosing));
  }
  return mean;
}

std::vector<AttentionEntropy> measure_entropy(const nn::Parameters& parameters,
                                              const std::vector<StackTrace>& stacks,
                                              const nn::ModelBatch& batch) {
  const at::NoGradGuard no_grad;
  std::vector<AttentionEntropy> measured;
  const Tensor turns = nn::rotations(parameters.config(), parameters.values());
  for (const StackTrace& trace : stacks) {
    const bool decoder = trace.side == Side::decoder;
    nn::StackInput input{.form = nn::block_form(parameters.config())};
    if (turns.defined())
      input.turns = turns.index_select(0, decoder ? batch.input_positions : batch.source_positions);
    for (int k = 0; k < trace.blocks(); ++k) {
      const auto weights = nn::find_block(parameters, trace.side, k);
      if (weights.kind == Kind::feed_forward) continue;
      const bool cross = weights.kind == Kind::cross_attention;
      const auto& rows = decoder ? batch.inputs : batch.sources;
      const ops::AttentionSpec spec{
          .heads = parameters.config().heads,
          .visibility = decoder && !cross ? ops::Visibility::causal : ops::Visibility::all,
          .queries = rows,
          .keys = cross ? batch.sources : rows};
      auto entropy = measure_block(weights, input, trace.inputs[k], stacks.front().y, spec);
      entropy.side = trace.side;
      entropy.block = k;
      entropy.cross = cross;
      measured.push_back(std::move(entropy));
    }
  }
  return measured;
}

}  // namespace residual::probe
