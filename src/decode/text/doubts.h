#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace residual::decode {

// What makes a translation implausible. None is certain: a sentence may be better said in few
// words, and a list of names stays as it is.
struct Doubts {
  bool is_short = false;  // it has far fewer pieces than its source
  bool repeats = false;   // it says the same over and over, and its source does not
  bool is_copy = false;   // it is its source

  bool any() const { return is_short || repeats || is_copy; }
  void add(const Doubts& other);
  std::vector<std::string> names() const;  // "short", "repeats", "untranslated"
};

// The doubts about a translation, by the ids of its pieces and of its source's, without </s>. The
// thresholds are such that people's translations raise next to none (docs/results/reliability.md).
Doubts doubts_about(std::span<const int32_t> translation, std::span<const int32_t> source);

// Whether a translation has its source's pieces, and too many of them for a name or a number.
bool is_copy(std::span<const std::string> translation, std::span<const std::string> source);

}  // namespace residual::decode
