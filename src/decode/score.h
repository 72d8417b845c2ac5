#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/engine.h"

namespace residual::decode {

struct Pair {
  std::vector<int32_t> source, target;  // both end in </s>; a language model's source is empty
};

// log p(target_i | target_1 ... target_{i-1}, source) for every token of every target. Of several
// models, the mean probability.
std::vector<std::vector<float>> score(std::span<Engine> engines, std::span<const Pair> pairs,
                                      Team* team = nullptr);

// Logits [target tokens, vocabulary] of one pair under one model: the same pass, for those who
// want the whole distribution.
std::vector<float> forced_logits(Engine& engine, const Pair& pair);

}  // namespace residual::decode
