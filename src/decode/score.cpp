#include "decode/score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "kernels/vocabulary.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

constexpr int64_t kRows = 192;  // whose logits are looked at together

void check(const Pair& pair, const model::Config& config) {
  const auto fits = [&](const std::vector<int32_t>& tokens, int64_t vocabulary, const char* side) {
    const auto length = static_cast<int64_t>(tokens.size());
    require(length > 0 && length <= config.max_positions,
            "a {} has {} tokens, the model takes from 1 to {}", side, length, config.max_positions);
    for (const int32_t id : tokens) {
      require(id >= 0 && id < vocabulary, "{} id {} is not in the vocabulary of {}", side, id,
              vocabulary);
    }
  };
  if (config.has_encoder()) fits(pair.source, config.source_vocabulary, "source");
  fits(pair.target, config.target_vocabulary, "target");
}

// Every target's hidden rows in one pass of the decoder: row i of a target reads what comes before
// its i-th token, and sees rows 0 ... i.
Rows forced(Engine& engine, std::span<const Pair> pairs, Team* team) {
  std::vector<std::span<const int32_t>> sources;
  size_t longest = 0;
  for (const auto& pair : pairs) {
    check(pair, engine.weights().config());
    sources.emplace_back(pair.source);
    longest = std::max(longest, pair.target.size());
  }
  const std::vector<Memory> memories = engine.encode(sources, team);

  const int32_t start = model::start_symbol(engine.weights().config());
  std::vector<int32_t> tokens, positions, slots;
  std::vector<Step::Sentence> sentences;
  for (size_t p = 0; p < pairs.size(); ++p) {
    const auto& target = pairs[p].target;
    const auto first = static_cast<int32_t>(tokens.size());
    for (size_t i = 0; i < target.size(); ++i) {
      tokens.push_back(i == 0 ? start : target[i - 1]);
      positions.push_back(static_cast<int32_t>(i + 1));
      slots.resize(tokens.size() * longest);
      std::iota(slots.end() - static_cast<int64_t>(longest), slots.end(), first);
    }
    sentences.push_back({&memories[p], static_cast<int>(target.size())});
  }
  return engine.decode({.tokens = tokens,
                        .positions = positions,
                        .slots = slots.data(),
                        .slot_stride = static_cast<int64_t>(longest),
                        .slot_count = static_cast<int32_t>(tokens.size()),
                        .sentences = sentences},
                       team);
}

}  // namespace

std::vector<std::vector<float>> score(std::span<Engine> engines, std::span<const Pair> pairs,
                                      Team* team) {
  std::vector<int32_t> targets;
  for (const auto& pair : pairs) {
    targets.insert(targets.end(), pair.target.begin(), pair.target.end());
  }
  std::vector<double> probabilities(targets.size());
  std::vector<float> log_probabilities(targets.size());
  std::vector<kernels::RowSummary> rows;
  for (Engine& engine : engines) {
    const Rows hidden = forced(engine, pairs, team);
    for (int64_t first = 0; first < hidden.rows(); first += kRows) {
      const int64_t last = std::min(first + kRows, hidden.rows());
      rows.clear();
      for (int64_t i = first; i < last; ++i) rows.push_back({.asked = {.index = targets[i]}});
      engine.summarise(hidden, first, rows, team);
      for (int64_t i = first; i < last; ++i) {
        const kernels::RowSummary& row = rows[i - first];
        const float value = row.asked.value - row.log_sum_exp();
        require(!std::isnan(value), "the model's output is not a number");
        log_probabilities[i] = value;
        probabilities[i] += std::exp(static_cast<double>(value));
      }
    }
  }
  if (engines.size() > 1) {
    for (size_t i = 0; i < targets.size(); ++i) {
      log_probabilities[i] =
          static_cast<float>(std::log(probabilities[i] / static_cast<double>(engines.size())));
    }
  }
  std::vector<std::vector<float>> scores;
  auto from = log_probabilities.begin();
  for (const auto& pair : pairs) {
    scores.emplace_back(from, from + static_cast<int64_t>(pair.target.size()));
    from += static_cast<int64_t>(pair.target.size());
  }
  return scores;
}

std::vector<float> forced_logits(Engine& engine, const Pair& pair) {
  const Rows hidden = forced(engine, {&pair, 1}, nullptr);
  std::vector<float> logits(hidden.rows() * engine.weights().config().output_vocabulary());
  engine.project(hidden, 0, hidden.rows(), logits.data(), nullptr);
  return logits;
}

}  // namespace residual::decode
