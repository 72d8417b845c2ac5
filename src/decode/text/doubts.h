#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace residual::decode {

// What makes a translation implausible. Neither is certain: a sentence may be better said in few
// words.
struct Doubts {
  bool is_short = false;  // it has far fewer pieces than its source
  bool repeats = false;   // it says the same over and over, and its source does not

  bool any() const { return is_short || repeats; }
  void add(const Doubts& other);
  std::vector<std::string> names() const;  // "short", "repeats"
};

// The doubts about a translation, by the ids of its pieces and of its source's, without </s>. The
// thresholds are such that people's translations raise next to none (docs/results/reliability.md).
Doubts doubts_about(std::span<const int32_t> translation, std::span<const int32_t> source);

}  // namespace residual::decode
