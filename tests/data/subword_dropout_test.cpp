#include "data/subword_dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace residual::data {
namespace {

using text::Bpe;
using text::Vocabulary;
using Ids = std::vector<int32_t>;

class SubwordDropoutTest : public testing::Test {
 protected:
  // abc and de are made by merges.
  static std::shared_ptr<const Bpe> bpe(double dropout) {
    return std::make_shared<const Bpe>("#version: 0.2\na b\nab c</w>\nd e</w>\n", "codes",
                                       text::BpeOptions{.dropout = dropout});
  }
  static std::shared_ptr<const Vocabulary> vocabulary(const std::vector<std::string>& pieces) {
    text::VocabularyBuilder builder;
    for (const auto& piece : pieces) builder.add(piece, 1);
    return std::make_shared<const Vocabulary>(builder.finish());
  }
  static const std::vector<std::string>& all_pieces() {
    static const std::vector<std::string> all = {"abc", "ab@@", "a@@", "b@@", "c",
                                                 "de",  "d@@",  "e",   "x"};
    return all;
  }

  // The line's pieces after a draw; something stands before them that must stay.
  std::string drawn(const std::string& line, uint64_t draw, int64_t longest = 100) {
    Ids ids = {7, 9};
    known_->encode(line, ids);
    SubwordDropout dropout(bpe(rate_), known_);
    dropout.apply(draw, 2, longest, ids);
    EXPECT_EQ(Ids(ids.begin(), ids.begin() + 2), (Ids{7, 9}));
    EXPECT_EQ(ids.back(), Vocabulary::kEos);
    return known_->decode(std::span(ids).subspan(2));
  }

  std::shared_ptr<const Vocabulary> known_ = vocabulary(all_pieces());
  double rate_ = 0.5;
};

TEST_F(SubwordDropoutTest, ChangesPiecesAndNeverWords) {
  std::set<std::string> seen;
  for (uint64_t draw = 0; draw < 300; ++draw) {
    const std::string pieces = drawn("abc x a@@ b@@ c de", draw);
    std::string words;
    text::undo_bpe(pieces, "@@", words);
    EXPECT_EQ(words, "abc x abc de");
    EXPECT_EQ(drawn("abc x a@@ b@@ c de", draw), pieces);
    seen.insert(pieces);
  }
  EXPECT_EQ(seen.size(), 3 * 3 * 2);  // each word for itself
}

TEST_F(SubwordDropoutTest, OfNothingGivesAllMergesAndOfAllGivesCharacters) {
  rate_ = 1e-300;
  EXPECT_EQ(drawn("a@@ b@@ c d@@ e x", 1), "abc de x");
  rate_ = 1;
  EXPECT_EQ(drawn("abc de x", 1), "a@@ b@@ c d@@ e x");
}

TEST_F(SubwordDropoutTest, LeavesWordsWhosePiecesTheVocabularyLacks) {
  rate_ = 1;
  known_ = vocabulary({"abc", "de", "d@@", "e", "x"});
  EXPECT_EQ(drawn("abc de x", 1), "abc d@@ e x");
  EXPECT_EQ(drawn("abc what de", 1), "abc <unk> d@@ e");
  EXPECT_EQ(drawn("", 1), "");
  EXPECT_EQ(drawn("d@@", 1), "d@@");  // a word that somebody cut off
}

TEST_F(SubwordDropoutTest, LeavesSentencesThatWouldBeTooLong) {
  rate_ = 1;
  EXPECT_EQ(drawn("abc de", 1, 6), "a@@ b@@ c d@@ e");
  EXPECT_EQ(drawn("abc de", 1, 5), "abc de");
}

}  // namespace
}  // namespace residual::data
