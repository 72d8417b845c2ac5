#include "fetch/split.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"

namespace residual::fetch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

uint64_t content_hash(const SentencePair& pair) {
  Checksum sum;
  sum.add(pair.first);
  sum.add("\n");
  sum.add(pair.second);
  return sum.value();
}

// A set of sentences by the hash of their folding; sentences of pure punctuation are not folded.
class Seen {
 public:
  struct Keys {
    uint64_t first, second;
  };

  static Keys keys(const SentencePair& pair) { return {key(pair.first), key(pair.second)}; }
  bool has(const Keys& keys) const {
    return first_.contains(keys.first) || second_.contains(keys.second);
  }
  void add(const Keys& keys) {
    first_.insert(keys.first);
    second_.insert(keys.second);
  }

 private:
  static uint64_t key(std::string_view sentence) {
    const std::string fold = folded(sentence);
    return checksum(fold.empty() ? sentence : fold);
  }

  std::unordered_set<uint64_t> first_, second_;
};

}  // namespace

std::string folded(std::string_view sentence) {
  std::string out;
  out.reserve(sentence.size());
  bool in_number = false;
  for (const char c : sentence) {
    if (is_digit(c)) {
      if (!std::exchange(in_number, true)) out += '0';
      continue;
    }
    in_number = false;
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80) {
      out += c;
    }
  }
  return out;
}

void drop_duplicates(std::vector<SentencePair>& pairs) {
  std::vector<std::pair<uint64_t, SentencePair>> keyed;
  keyed.reserve(pairs.size());
  for (SentencePair& pair : pairs) {
    const uint64_t hash = content_hash(pair);
    keyed.emplace_back(hash, std::move(pair));
  }
  std::sort(keyed.begin(), keyed.end());
  keyed.erase(std::unique(keyed.begin(), keyed.end()), keyed.end());
  pairs.clear();
  for (auto& entry : keyed) pairs.push_back(std::move(entry.second));
}

Split split_by_content(std::vector<SentencePair> pairs, size_t dev, size_t test) {
  drop_duplicates(pairs);
  const size_t total = pairs.size();
  Split split;
  Seen held_out;
  std::vector<SentencePair> rest;
  for (SentencePair& pair : pairs) {
    std::vector<SentencePair>* held = split.test.size() < test ? &split.test
                                      : split.dev.size() < dev ? &split.dev
                                                               : nullptr;
    const Seen::Keys keys = Seen::keys(pair);
    if (held && !held_out.has(keys)) {
      held_out.add(keys);
      held->push_back(std::move(pair));
    } else {
      rest.push_back(std::move(pair));
    }
  }
  for (SentencePair& pair : rest) {
    if (!held_out.has(Seen::keys(pair))) split.train.push_back(std::move(pair));
  }
  split.overlapping = rest.size() - split.train.size();
  require(split.test.size() == test && split.dev.size() == dev && !split.train.empty(),
          "{} different pairs are too few for {} dev and {} test pairs; ask for fewer", total, dev,
          test);
  return split;
}

}  // namespace residual::fetch
