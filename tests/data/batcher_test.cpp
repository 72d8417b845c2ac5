#include "data/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>

#include "base/config.h"
#include "base/error.h"
#include "base/parallel.h"
#include "support/corpora.h"
#include "support/paths.h"

namespace residual::data {
namespace {

using test::Pairs;
using test::random_pairs;
using test::TemporaryDirectory;
using test::write_corpus;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Indices = std::vector<std::vector<int64_t>>;

Indices epoch(Batcher& batcher, int64_t number) {
  Indices batches;
  for (int64_t b = 0; b < batcher.batches_in_epoch(number); ++b) {
    batches.push_back(batcher.get({number, b}).pairs);
  }
  return batches;
}

std::vector<int64_t> sorted(const Indices& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::set<std::vector<int64_t>> compositions(Indices batches) {
  for (auto& batch : batches) std::sort(batch.begin(), batch.end());
  return {batches.begin(), batches.end()};
}

bool operator==(const Batch& a, const Batch& b) {
  return a.source == b.source && a.target == b.target && a.source_offsets == b.source_offsets &&
         a.target_offsets == b.target_offsets && a.pairs == b.pairs && a.corpus == b.corpus;
}

class BatcherTest : public testing::Test {
 protected:
  const Corpus& corpus(const Pairs& pairs) {
    const std::string name = std::to_string(corpora_.size()) + ".corpus";
    corpora_.push_back(std::make_unique<Corpus>(write_corpus(directory_ / name, pairs)));
    return *corpora_.back();
  }
  Batcher batcher(const Corpus& one, BatchOptions options = {}) {
    return Batcher({{.corpus = &one}}, options);
  }

 private:
  TemporaryDirectory directory_;
  std::vector<std::unique_ptr<Corpus>> corpora_;
};

// Both compositions must hold the general promises.
class Compositions : public BatcherTest, public testing::WithParamInterface<Composition> {
 protected:
  BatchOptions options(BatchOptions given = {}) {
    given.composition = GetParam();
    return given;
  }
};

TEST_P(Compositions, EveryPairIsInEveryEpochExactlyOnce) {
  const Corpus& c = corpus(random_pairs(2000, 60, 1));
  Batcher b = batcher(c, options({.max_tokens = 300}));
  std::vector<int64_t> all(2000);
  std::iota(all.begin(), all.end(), 0);
  for (int64_t e : {1, 2, 9}) EXPECT_EQ(sorted(epoch(b, e)), all);
}

TEST_P(Compositions, NeverExceedsTheTokenOrTheSentenceBudget) {
  const Corpus& c = corpus(random_pairs(2000, 60, 2));
  Batcher b = batcher(c, options({.max_tokens = 250, .max_sentences = 9}));
  for (int64_t k = 0; k < b.batches_in_epoch(1); ++k) {
    const Batch batch = b.get({1, k});
    EXPECT_LE(batch.source.size(), 250u);
    EXPECT_LE(batch.target.size(), 250u);
    EXPECT_LE(batch.size(), 9);
    EXPECT_GE(batch.size(), 1);
  }
}

TEST_P(Compositions, RowsAreTheSentencesOfTheCorpus) {
  const Pairs pairs = random_pairs(300, 30, 3);
  const Corpus& c = corpus(pairs);
  Batcher b({{.corpus = &c, .source_prefix = {77, 78}}}, options({.max_tokens = 100}));
  for (int64_t k = 0; k < b.batches_in_epoch(2); ++k) {
    const Batch batch = b.get({2, k});
    ASSERT_EQ(batch.source_offsets.size(), batch.pairs.size() + 1);
    ASSERT_EQ(batch.target_offsets.size(), batch.pairs.size() + 1);
    for (size_t i = 0; i < batch.pairs.size(); ++i) {
      const auto row = [i](const std::vector<int32_t>& ids, const std::vector<int32_t>& offsets) {
        return test::Sentence(ids.begin() + offsets[i], ids.begin() + offsets[i + 1]);
      };
      const auto& [source, target] = pairs[static_cast<size_t>(batch.pairs[i])];
      test::Sentence tagged{77, 78};
      tagged.insert(tagged.end(), source.begin(), source.end());
      EXPECT_EQ(row(batch.source, batch.source_offsets), tagged);
      EXPECT_EQ(row(batch.target, batch.target_offsets), target);
    }
    EXPECT_EQ(batch.source_offsets.back(), static_cast<int32_t>(batch.source.size()));
    EXPECT_LE(batch.source.size(), 100u) << "tags count";
  }
}

TEST_P(Compositions, SameSeedSameBatchesOtherSeedOrEpochOtherOrder) {
  const Corpus& c = corpus(random_pairs(1000, 40, 4));
  Batcher a = batcher(c, options({.max_tokens = 200})),
          b = batcher(c, options({.max_tokens = 200}));
  Batcher other = batcher(c, options({.max_tokens = 200, .seed = 2}));
  EXPECT_EQ(epoch(a, 3), epoch(b, 3));
  EXPECT_NE(epoch(a, 3), epoch(a, 4));
  EXPECT_NE(epoch(a, 3), epoch(other, 3));
}

TEST_P(Compositions, ResumingAtAnyPositionContinuesTheSameStream) {
  const Corpus& c = corpus(random_pairs(200, 40, 5));
  Batcher whole = batcher(c, options({.max_tokens = 200}));
  std::vector<std::pair<BatchPosition, Batch>> stream;
  while (whole.position().epoch < 4) {
    const BatchPosition at = whole.position();
    stream.emplace_back(at, whole.next());
  }
  ASSERT_GT(stream.size(), 60u);
  for (size_t start = 0; start < stream.size(); start += 7) {
    Batcher resumed = batcher(c, options({.max_tokens = 200}));
    resumed.seek(stream[start].first);
    for (size_t i = start; i < std::min(stream.size(), start + 9); ++i) {
      EXPECT_EQ(resumed.position(), stream[i].first);
      EXPECT_TRUE(resumed.next() == stream[i].second) << start << " " << i;
    }
  }
}

TEST_P(Compositions, DrawPiecesByEpochAndPairAlone) {
  text::VocabularyBuilder builder;
  for (const char* piece : {"ab", "a@@", "b", "x"}) builder.add(piece, 1);
  const auto known = std::make_shared<const text::Vocabulary>(builder.finish());
  const auto bpe = std::make_shared<const text::Bpe>("#version: 0.2\na b</w>\n", "codes",
                                                     text::BpeOptions{.dropout = 0.5});
  Pairs pairs;
  for (size_t i = 0; i < 50; ++i) {
    auto& [source, target] = pairs.emplace_back();
    std::string line;
    for (size_t j = 0; j <= i % 9; ++j) line += j % 3 == 0 ? "x " : "ab ";
    known->encode(line, source);
    known->encode("x " + line, target);
  }
  const Corpus& c = corpus(pairs);
  const auto made = [&] {
    const auto dropout = std::make_shared<SubwordDropout>(bpe, known);
    return Batcher({{.corpus = &c,
                     .source_prefix = {77},
                     .source_dropout = dropout,
                     .target_dropout = dropout}},
                   options({.max_tokens = 30, .max_source = 14, .max_target = 14}));
  };
  using Sides = std::pair<std::vector<int32_t>, std::vector<int32_t>>;
  const auto sides_of = [&](Batcher& b, int64_t number) {
    std::map<int64_t, Sides> sides;
    for (int64_t k = b.batches_in_epoch(number); k-- > 0;) {
      const Batch batch = b.get({number, k});
      for (int64_t i = 0; i < batch.size(); ++i) {
        Sides& at = sides[batch.pairs[i]];
        at.first.assign(batch.source.begin() + batch.source_offsets[i],
                        batch.source.begin() + batch.source_offsets[i + 1]);
        at.second.assign(batch.target.begin() + batch.target_offsets[i],
                         batch.target.begin() + batch.target_offsets[i + 1]);
        EXPECT_EQ(at.first[0], 77);
        EXPECT_LE(std::max(at.first.size(), at.second.size()), 14U);
      }
    }
    return sides;
  };
  Batcher once = made(), again = made();
  const auto first = sides_of(once, 1), second = sides_of(once, 2);
  EXPECT_EQ(first.size(), pairs.size());
  EXPECT_NE(first, second);
  EXPECT_EQ(sides_of(again, 2), second);
  EXPECT_EQ(sides_of(again, 1), first);
  EXPECT_NE(first.at(8), first.at(17)) << "the same sentence, drawn for itself";
}

TEST_P(Compositions, DoNotDependOnTheNumberOfThreads) {
  const Corpus& c = corpus(random_pairs(3000, 60, 6));
  const int before = thread_count();
  set_thread_count(1);
  Batcher one = batcher(c, options());
  const Indices expected = epoch(one, 2);
  set_thread_count(7);
  Batcher seven = batcher(c, options());
  EXPECT_EQ(epoch(seven, 2), expected);
  set_thread_count(before);
}

TEST_P(Compositions, LongPairsAreLeftOutAndCounted) {
  const Pairs pairs = random_pairs(500, 50, 7);
  const Corpus& c = corpus(pairs);
  Batcher b = batcher(c, options({.max_source = 30, .max_target = 40}));
  std::vector<int64_t> kept;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].first.size() <= 30 && pairs[i].second.size() <= 40) {
      kept.push_back(static_cast<int64_t>(i));
    }
  }
  ASSERT_LT(kept.size(), 400u);
  EXPECT_EQ(sorted(epoch(b, 1)), kept);
  EXPECT_EQ(b.skipped(0), 500 - static_cast<int64_t>(kept.size()));
}

TEST_P(Compositions, AreLengthGroupedSoThatPaddingWouldBeSmall) {
  const Corpus& c = corpus(random_pairs(20000, 60, 8));
  Batcher b = batcher(c, options());
  double tokens = 0, padded = 0;
  for (int64_t k = 0; k < b.batches_in_epoch(1); ++k) {
    const Batch batch = b.get({1, k});
    int32_t longest = 0;
    for (size_t i = 0; i + 1 < batch.source_offsets.size(); ++i) {
      longest = std::max(longest, batch.source_offsets[i + 1] - batch.source_offsets[i]);
    }
    tokens += static_cast<double>(batch.source.size());
    padded += static_cast<double>(longest) * static_cast<double>(batch.size());
  }
  EXPECT_GT(tokens / padded, 0.85);  // 0.5 without grouping
}

INSTANTIATE_TEST_SUITE_P(All, Compositions,
                         testing::Values(Composition::residual, Composition::fairseq),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_F(BatcherTest, OurCompositionChangesWithTheEpochFairseqsDoesNot) {
  const Corpus& c = corpus(random_pairs(1000, 40, 9));
  Batcher ours = batcher(c, {.max_tokens = 300});
  const auto first = compositions(epoch(ours, 1)), second = compositions(epoch(ours, 2));
  std::vector<std::vector<int64_t>> common;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                        std::back_inserter(common));
  EXPECT_LT(common.size(), first.size() / 20);
  Batcher theirs = batcher(c, {.max_tokens = 300, .composition = Composition::fairseq});
  EXPECT_EQ(compositions(epoch(theirs, 1)), compositions(epoch(theirs, 2)));
}

// The file is made by fairseq's own batch_by_size_vec and numpy; see tests/fixtures/README.md.
TEST_F(BatcherTest, FairseqsBatchesAreFairseqs) {
  std::ifstream file(test::fixtures() + "/batches/fairseq.txt");
  std::string line, word;
  std::vector<std::pair<std::string, std::map<int64_t, Indices>>> runs;
  while (std::getline(file, line)) {
    if (line.starts_with("run ")) {
      runs.emplace_back(line, std::map<int64_t, Indices>());
      continue;
    }
    std::istringstream numbers(line);
    int64_t number;
    numbers >> number;
    auto& batch = runs.back().second[number].emplace_back();
    while (numbers >> number) batch.push_back(number);
  }
  ASSERT_EQ(runs.size(), 5u);
  for (const auto& [settings, epochs] : runs) {
    SCOPED_TRACE(settings);
    std::istringstream in(settings);
    int64_t count = 0;
    BatchOptions o{.composition = Composition::fairseq};
    in >> word >> count >> o.seed >> o.max_tokens >> o.max_sentences >> o.sentence_multiple >>
        o.max_source >> o.max_target;
    Pairs pairs;
    for (int64_t i = 0; i < count; ++i) {
      pairs.emplace_back(test::sentence(i, 1 + (i * i * 11 + i * 37) % 29, 100),
                         test::sentence(i, 1 + (i * i * 7 + i * 53) % 31, 100));
    }
    Batcher b = batcher(corpus(pairs), o);
    for (const auto& [number, batches] : epochs) EXPECT_EQ(epoch(b, number), batches);
  }
}

// python: numpy.random.seed(5); print(numpy.random.permutation(6))
TEST(NumpyShuffle, GivesNumpysPermutation) {
  std::vector<uint32_t> values(6);
  std::iota(values.begin(), values.end(), 0u);
  numpy_shuffle(values, 5);
  EXPECT_THAT(values, testing::ElementsAre(5, 2, 4, 1, 0, 3));
}

TEST_F(BatcherTest, RefusesWhatCannotWork) {
  const Corpus& c = corpus(random_pairs(50, 40, 10));
  const Corpus& empty = corpus({});
  const auto making = [&](const Corpus& one, BatchOptions options) {
    return [&one, options] { Batcher({{.corpus = &one}}, options); };
  };
  EXPECT_THAT(making(empty, {}), ThrowsMessage<Error>(HasSubstr("has no sentence pairs")));
  EXPECT_THAT(making(c, {.max_tokens = 20}), ThrowsMessage<Error>(HasSubstr("the pair in line")));
  EXPECT_THAT(making(c, {.max_tokens = 0}), ThrowsMessage<Error>(HasSubstr("max_tokens is 0")));
  EXPECT_THAT(making(c, {.max_source = 0}), ThrowsMessage<Error>(HasSubstr("max_source is 0")));
  EXPECT_THAT(making(c, {.temperature = {.end = 0}}), ThrowsMessage<Error>(HasSubstr("0.01")));
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Temperature& t : {Temperature{.start = infinity, .end = 1, .annealing_epochs = 3},
                               Temperature{.start = 1, .end = infinity, .annealing_epochs = 3}}) {
    EXPECT_THAT(making(c, {.temperature = t}), ThrowsMessage<Error>(HasSubstr("must be finite")));
  }
  EXPECT_NO_THROW(making(c, {.temperature = {.start = infinity, .end = infinity}})());
  EXPECT_THAT([] { Batcher({}, {}); }, ThrowsMessage<Error>(HasSubstr("no corpus")));
  EXPECT_THAT(
      [&] {
        Batcher({{.corpus = &c}, {.corpus = &c}}, {.composition = Composition::fairseq});
      },
      ThrowsMessage<Error>(HasSubstr("takes one corpus")));
  const Corpus& long_only = corpus({{test::Sentence(9, 2), {2}}});
  EXPECT_THAT(making(long_only, {.max_source = 8}), ThrowsMessage<Error>(HasSubstr("none of its")));
  Batcher b = batcher(c);
  EXPECT_THROW(b.get({0, 0}), Error);
  EXPECT_THROW(b.get({1, b.batches_in_epoch(1)}), Error);
  EXPECT_THROW(b.seek({1, -1}), Error);
}

TEST_F(BatcherTest, MixesAtTemperatureOneTakeEveryPairOnceWithItsTag) {
  const Corpus& a = corpus(random_pairs(700, 30, 11));
  const Corpus& b = corpus(random_pairs(90, 30, 12));
  Batcher mix({{.corpus = &a, .source_prefix = {500}}, {.corpus = &b, .source_prefix = {501}}},
              {.max_tokens = 200});
  for (int64_t e : {1, 2}) {
    std::vector<Indices> seen(2);
    int changes = 0;
    int last = 0;
    for (int64_t k = 0; k < mix.batches_in_epoch(e); ++k) {
      const Batch batch = mix.get({e, k});
      seen[static_cast<size_t>(batch.corpus)].push_back(batch.pairs);
      for (int64_t i = 0; i < batch.size(); ++i) {
        const auto at = static_cast<size_t>(batch.source_offsets[static_cast<size_t>(i)]);
        EXPECT_EQ(batch.source[at], 500 + batch.corpus);
      }
      changes += batch.corpus != last;
      last = batch.corpus;
    }
    for (size_t i = 0; i < 2; ++i) {
      std::vector<int64_t> all(i == 0 ? 700 : 90);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted(seen[i]), all);
    }
    EXPECT_GT(changes, 8) << "corpora take turns";
  }
}

TEST_F(BatcherTest, MixesFollowTheTemperatureAndGoThroughEachCorpusInWholePasses) {
  const Corpus& large = corpus(random_pairs(4000, 30, 13));
  const Corpus& small = corpus(random_pairs(250, 30, 14));
  BatchOptions options{.max_tokens = 200, .temperature = {.start = 2, .end = 2}};
  Batcher mix({{.corpus = &large}, {.corpus = &small}}, options);
  // n^(1/2): 63.2 and 15.8, so 4 to 1 of 4250 pairs.
  std::vector<std::vector<int>> times{std::vector<int>(4000), std::vector<int>(250)};
  std::vector<double> pairs(2);
  const int64_t epochs = 10;
  for (int64_t e = 1; e <= epochs; ++e) {
    for (int64_t k = 0; k < mix.batches_in_epoch(e); ++k) {
      const Batch batch = mix.get({e, k});
      const auto which = static_cast<size_t>(batch.corpus);
      pairs[which] += static_cast<double>(batch.size());
      for (const int64_t pair : batch.pairs) ++times[which][static_cast<size_t>(pair)];
    }
  }
  EXPECT_NEAR(pairs[0], 3400 * epochs, 100);
  EXPECT_NEAR(pairs[1], 850 * epochs, 100);
  for (const auto& corpus_times : times) {
    const auto [low, high] = std::minmax_element(corpus_times.begin(), corpus_times.end());
    EXPECT_LE(*high - *low, 1) << "no pair again before all others";
  }
}

TEST_F(BatcherTest, MixesResumeAnywhereWithAnnealing) {
  const Corpus& large = corpus(random_pairs(900, 30, 15));
  const Corpus& small = corpus(random_pairs(40, 30, 16));
  const BatchOptions options{.max_tokens = 200,
                             .temperature = {.start = 1, .end = 5, .annealing_epochs = 3}};
  const auto make = [&] { return Batcher({{.corpus = &large}, {.corpus = &small}}, options); };
  Batcher whole = make();
  std::vector<std::pair<BatchPosition, Batch>> stream;
  while (whole.position().epoch < 6) {
    const BatchPosition at = whole.position();
    stream.emplace_back(at, whole.next());
  }
  for (size_t i = 0; i < stream.size(); i += 5) {
    Batcher resumed = make();
    resumed.seek(stream[i].first);
    EXPECT_TRUE(resumed.next() == stream[i].second) << i;
  }
}

// Shares of less than a batch add up until they make one.
TEST_F(BatcherTest, TinyCorporaDoNotStopAMixture) {
  const Corpus& a = corpus(random_pairs(1, 5, 17));
  const Corpus& b = corpus(random_pairs(3, 5, 18));
  Batcher mix({{.corpus = &a}, {.corpus = &b}}, {.temperature = {.start = 5, .end = 5}});
  std::vector<int> batches(2);
  for (int i = 0; i < 50; ++i) ++batches[static_cast<size_t>(mix.next().corpus)];
  EXPECT_GT(batches[0], 5);
  EXPECT_GT(batches[1], 5);
}

}  // namespace
}  // namespace residual::data
