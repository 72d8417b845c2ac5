#include "data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "support/corpora.h"

namespace residual::data {
namespace {

using test::random_pairs;
using test::TemporaryDirectory;
using test::write_corpus;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Without the syncs of replace_file, which thousands of damaged files would wait for. Removed
// first, because some file systems sync what overwrites a file.
void write_bytes(const fs::path& path, const std::string& bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

void expect_equal(const Corpus& corpus, const test::Pairs& pairs) {
  ASSERT_EQ(corpus.size(), static_cast<int64_t>(pairs.size()));
  uint64_t source_tokens = 0, target_tokens = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int64_t pair = static_cast<int64_t>(i);
    EXPECT_EQ(test::ids_of(corpus.source(pair)), pairs[i].first);
    EXPECT_EQ(test::ids_of(corpus.target(pair)), pairs[i].second);
    EXPECT_EQ(corpus.lengths(pair).source, static_cast<int64_t>(pairs[i].first.size()));
    EXPECT_EQ(corpus.lengths(pair).target, static_cast<int64_t>(pairs[i].second.size()));
    EXPECT_EQ(corpus.line(pair), 10 * i + 1);
    source_tokens += pairs[i].first.size();
    target_tokens += pairs[i].second.size();
  }
  EXPECT_EQ(corpus.footer().source_tokens, source_tokens);
  EXPECT_EQ(corpus.footer().target_tokens, target_tokens);
  corpus.verify();
}

class CorpusWidths : public testing::TestWithParam<bool> {};

TEST_P(CorpusWidths, WhatWasWrittenIsRead) {
  const TemporaryDirectory directory;
  const test::Pairs pairs = random_pairs(500, 40, 1, GetParam() ? 1'000'000 : 65'536);
  const Corpus corpus = write_corpus(directory / "a.corpus", pairs,
                                     {.source_language = "de",
                                      .target_language = "en",
                                      .source_vocabulary_hash = 11,
                                      .target_vocabulary_hash = 12,
                                      .wide_ids = GetParam()});
  expect_equal(corpus, pairs);
  EXPECT_EQ(corpus.source_language(), "de");
  EXPECT_EQ(corpus.target_language(), "en");
  EXPECT_NO_THROW(corpus.require_vocabularies(11, 12));
  EXPECT_THAT([&] { corpus.require_vocabularies(11, 13); },
              ThrowsMessage<Error>(HasSubstr("made with a target vocabulary")));
}

INSTANTIATE_TEST_SUITE_P(Ids, CorpusWidths, testing::Bool(),
                         [](const auto& wide) { return wide.param ? "Wide" : "Narrow"; });

TEST(Corpus, MayBeEmpty) {
  const TemporaryDirectory directory;
  expect_equal(write_corpus(directory / "empty.corpus", {}), {});
}

TEST(Corpus, HoldsTheLargestIdOfEachWidthAndNoLarger) {
  const TemporaryDirectory directory;
  const test::Pairs pairs = {{{65535, 2}, {2}}};
  expect_equal(write_corpus(directory / "a.corpus", pairs), pairs);
  CorpusWriter writer(directory / "b.corpus", {});
  const std::vector<int32_t> large{65536}, negative{-1}, fine{2};
  EXPECT_THAT([&] { writer.add(large, fine, 5); },
              ThrowsMessage<Error>(HasSubstr("source side of line 5 has id 65536")));
  EXPECT_THAT([&] { writer.add(fine, negative, 6); },
              ThrowsMessage<Error>(HasSubstr("target side of line 6 has id -1")));
  EXPECT_THAT([&] { writer.add(fine, {}, 7); }, ThrowsMessage<Error>(HasSubstr("has no ids")));
}

TEST(Corpus, LeavesNothingBehindWithoutCommit) {
  const TemporaryDirectory directory;
  {
    CorpusWriter writer(directory / "a.corpus", {});
    writer.add(std::vector<int32_t>{2}, std::vector<int32_t>{2}, 1);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Corpus, ALanguageNameThatDoesNotFitIsAnError) {
  const TemporaryDirectory directory;
  EXPECT_THROW(CorpusWriter(directory / "a.corpus", {.source_language = std::string(32, 'x')}),
               Error);
}

TEST(Corpus, SaysWhatAFileIsNot) {
  const TemporaryDirectory directory;
  const auto opening = [&](const std::string& content) {
    write_bytes(directory / "x", content);
    return [path = directory / "x"] { Corpus::open(path); };
  };
  EXPECT_THAT(opening(""), ThrowsMessage<Error>(HasSubstr("not a corpus")));
  EXPECT_THAT(opening("Das ist ein Text.\n"), ThrowsMessage<Error>(HasSubstr("not a corpus")));
  EXPECT_THAT(opening("residual corpus2"), ThrowsMessage<Error>(HasSubstr("format version")));
  EXPECT_THAT(opening("residual corpus1"), ThrowsMessage<Error>(HasSubstr("no footer")));
  EXPECT_THAT([&] { Corpus::open(directory / "absent"); }, testing::Throws<Error>());
}

// Whatever the bytes: an Error, or data that can be read to the last id.
void read_all(const fs::path& path) {
  try {
    const Corpus corpus = Corpus::open(path);
    std::vector<int32_t> source, target;
    for (int64_t pair = 0; pair < corpus.size(); ++pair) {
      source.clear();
      try {
        corpus.append(pair, source, target);
        EXPECT_GT(source.size(), 0u);
      } catch (const Error&) {
      }
    }
    corpus.verify();
  } catch (const Error&) {
    return;
  }
}

TEST(Corpus, EveryFlippedBitIsNoticed) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a.corpus";
  write_corpus(path, random_pairs(20, 9, 3));
  const std::string good = read_file(path);
  const Corpus corpus = Corpus::open(path);
  const Random random(4);
  for (uint64_t i = 0; i < 3000; ++i) {
    std::string bad = good;
    const size_t at = random.below(i, bad.size());
    bad[at] = static_cast<char>(bad[at] ^ (1 << random.below(i + 10'000, 8)));
    const auto& footer = corpus.footer();
    const bool padding =
        (at >= footer.ids.offset + footer.ids.bytes && at < footer.boundaries.offset);
    write_bytes(directory / "b.corpus", bad);
    read_all(directory / "b.corpus");
    if (!padding) {
      EXPECT_THROW(Corpus::open(directory / "b.corpus").verify(), Error) << "byte " << at;
    }
  }
}

TEST(Corpus, BytesOfNoSectionAreNoticed) {
  const TemporaryDirectory directory;
  CorpusWriter writer(directory / "a", {.source_language = "en", .target_language = "de"});
  const std::vector<int32_t> ids = {4, 2};
  writer.add(ids, ids, 1);
  writer.commit();
  const std::string bytes = read_file(directory / "a");
  write_bytes(directory / "twice", bytes + bytes);
  EXPECT_THAT([&] { Corpus::open(directory / "twice"); },
              ThrowsMessage<Error>(HasSubstr("bytes outside all sections")));
}

TEST(Corpus, EveryTruncationIsNoticed) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a.corpus";
  write_corpus(path, random_pairs(5, 9, 3));
  const std::string good = read_file(path);
  for (size_t size = 0; size < good.size(); ++size) {
    write_bytes(path, good.substr(0, size));
    EXPECT_THROW(Corpus::open(path), Error) << size << " bytes";
  }
}

// An attacker can make checksums fit: then bounds are all that protects.
TEST(Corpus, ForgedFootersAndIndicesGiveErrors) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a.corpus";
  write_corpus(path, random_pairs(20, 9, 3));
  const std::string good = read_file(path);
  const size_t footer_at = good.size() - sizeof(CorpusFooter);
  const Random random(5);
  for (uint64_t i = 0; i < 3000; ++i) {
    std::string bad = good;
    CorpusFooter footer;
    std::memcpy(&footer, good.data() + footer_at, sizeof(footer));
    const uint64_t values[] = {0,
                               1,
                               ~uint64_t{0},
                               uint64_t{1} << 63,
                               random.bits(5 * i + 2),
                               good.size() - sizeof(footer),
                               footer.pairs + 1};
    const uint64_t value = values[random.below(5 * i, std::size(values))];
    const bool in_footer = i % 2 == 0;
    const size_t room = in_footer ? offsetof(CorpusFooter, checksum) : footer.boundaries.bytes;
    const size_t begin = in_footer ? footer_at : footer.boundaries.offset;
    std::memcpy(bad.data() + begin + random.below(5 * i + 1, room / 8) * 8, &value, 8);
    std::memcpy(&footer, bad.data() + footer_at, sizeof(footer));
    if (!in_footer) {
      footer.boundaries.checksum =
          checksum(std::string_view(bad).substr(footer.boundaries.offset, footer.boundaries.bytes));
    }
    footer.checksum =
        checksum({reinterpret_cast<const char*>(&footer), offsetof(CorpusFooter, checksum)});
    std::memcpy(bad.data() + footer_at, &footer, sizeof(footer));
    write_bytes(path, bad);
    read_all(path);
  }
}

TEST(Corpus, AnIdBeyondTheVocabularyIsAnError) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a.corpus";
  write_corpus(path, {{{4, 2}, {5, 2}}});
  std::string bytes = read_file(path);
  bytes[17] = 1;  // the first id becomes 260
  write_bytes(path, bytes);
  const Corpus corpus = Corpus::open(path);
  std::vector<int32_t> source, target;
  EXPECT_THAT([&] { corpus.append(0, source, target); },
              ThrowsMessage<Error>(HasSubstr("an id outside its vocabulary")));
}

}  // namespace
}  // namespace residual::data
