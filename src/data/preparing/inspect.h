#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "data/hash_set.h"
#include "data/pairs.h"

// Inspection of the whole text before long work starts.
namespace residual::data {

// The sentences of dev and test, stored as hashes.
class HeldOut {
 public:
  static uint64_t pair_hash(std::string_view source, std::string_view target) {
    // Order matters, so that a pair and its mirror image differ.
    return checksum(source) * 31 + checksum(target);
  }
  void add(std::string_view source, std::string_view target);
  bool has_pair(std::string_view source, std::string_view target) const {
    return pairs_.contains(pair_hash(source, target));
  }
  bool has_sentence_of(std::string_view source, std::string_view target) const {
    return sources_.contains(checksum(source)) || targets_.contains(checksum(target));
  }

 private:
  HashSet pairs_, sources_, targets_;
};

// The number of lines with a defect, and the first such line.
struct Oddity {
  uint64_t count = 0;
  uint64_t first = 0;
  void add(uint64_t line) {
    if (count++ == 0) first = line;
  }
};

struct Inspection {
  uint64_t pairs = 0;
  Oddity empty;                         // an empty side, white space ignored
  Oddity identical;                     // equal sides, not both empty
  Oddity long_line;                     // a side over kLongLineBytes
  Oddity shared_pair, shared_sentence;  // shared with dev or test
};

constexpr size_t kLongLineBytes = 8192;  // more than the 1024 tokens that a model reads

// Reads all inputs once, on all cores. Throws an Error for files of different lengths and for
// invalid UTF-8. The pairs are compared with `overlap` and added to `collect`.
Inspection inspect(const std::string& label, const std::vector<PairFiles>& inputs,
                   text::Invalid invalid, const HeldOut* overlap, HeldOut* collect);

// Returns warnings for the user: "train en-de: 3 pairs with an empty side, the first in line 12".
std::vector<std::string> warnings(const std::string& label, const Inspection& inspection);

}  // namespace residual::data
