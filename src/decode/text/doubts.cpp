#include "decode/text/doubts.h"

#include <algorithm>

namespace residual::decode {
namespace {

constexpr size_t kShortSource = 10;          // pieces; shorter ones may become one word
constexpr double kShortShare = 0.3;          // of the source's pieces
constexpr size_t kLongestPeriod = 32;        // pieces
constexpr size_t kTimes = 3, kRepeated = 8;  // times, and pieces in all, that a repetition has

constexpr size_t kCopied = 6;  // pieces that a copy has at least

// The pieces of the longest stretch that consists of one sequence at least kTimes in a row.
size_t longest_repetition(std::span<const int32_t> ids) {
  size_t longest = 0;
  for (size_t period = 1; period <= kLongestPeriod && kTimes * period <= ids.size(); ++period) {
    size_t same = 0;
    for (size_t i = period; i < ids.size(); ++i) {
      same = ids[i] == ids[i - period] ? same + 1 : 0;
      if (same + period >= kTimes * period) longest = std::max(longest, same + period);
    }
  }
  return longest;
}

}  // namespace

void Doubts::add(const Doubts& other) {
  is_short |= other.is_short;
  repeats |= other.repeats;
  is_copy |= other.is_copy;
}

std::vector<std::string> Doubts::names() const {
  std::vector<std::string> all;
  if (is_short) all.emplace_back("short");
  if (repeats) all.emplace_back("repeats");
  if (is_copy) all.emplace_back("untranslated");
  return all;
}

Doubts doubts_about(std::span<const int32_t> translation, std::span<const int32_t> source) {
  const auto ours = static_cast<double>(translation.size());
  const size_t repeated = longest_repetition(translation);
  return {.is_short = source.size() >= kShortSource &&
                      ours < kShortShare * static_cast<double>(source.size()),
          .repeats = repeated >= kRepeated && repeated > 2 * longest_repetition(source)};
}

bool is_copy(std::span<const std::string> translation, std::span<const std::string> source) {
  return source.size() >= kCopied && std::ranges::equal(translation, source);
}

}  // namespace residual::decode
