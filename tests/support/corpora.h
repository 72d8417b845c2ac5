#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/corpus.h"
#include "support/temporary.h"

namespace residual::test {

using Sentence = std::vector<int32_t>;
using Pairs = std::vector<std::pair<Sentence, Sentence>>;

constexpr int32_t kEos = 2;

// Ids follow from the place, so that a sentence in the wrong place is seen.
inline Sentence sentence(int64_t pair, int64_t length, int32_t vocabulary) {
  Sentence ids(static_cast<size_t>(length), kEos);
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>((pair * 31 + static_cast<int64_t>(i)) % (vocabulary - 4)) + 4;
  }
  return ids;
}

inline Pairs random_pairs(int64_t count, int64_t longest, uint64_t seed,
                          int32_t vocabulary = 1000) {
  const Random random(seed);
  Pairs pairs;
  for (int64_t i = 0; i < count; ++i) {
    const auto length = [&](uint64_t side) {
      const uint64_t at = 2 * static_cast<uint64_t>(i) + side;
      return 1 + static_cast<int64_t>(random.below(at, static_cast<uint64_t>(longest)));
    };
    pairs.emplace_back(sentence(i, length(0), vocabulary), sentence(i + 7, length(1), vocabulary));
  }
  return pairs;
}

inline data::Corpus write_corpus(const std::filesystem::path& path, const Pairs& pairs,
                                 data::CorpusOptions options = {}) {
  data::CorpusWriter writer(path, std::move(options));
  for (size_t i = 0; i < pairs.size(); ++i) {
    writer.add(pairs[i].first, pairs[i].second, 10 * i + 1);
  }
  writer.commit();
  return data::Corpus::open(path);
}

inline Sentence ids_of(const data::SentenceView& view) {
  Sentence ids;
  for (int64_t i = 0; i < view.size(); ++i) ids.push_back(view[i]);
  return ids;
}

}  // namespace residual::test
