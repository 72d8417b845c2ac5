#include "metrics/tokenizers.h"

#include <gtest/gtest.h>

#include "base/config.h"
#include "base/error.h"
#include "text/whitespace.h"

namespace residual::metrics {
namespace {

std::string joined(const std::string& text) {
  std::vector<std::string_view> words;
  text::split_tokens(text, words);
  std::string out;
  for (const auto word : words) out += (out.empty() ? "" : " ") + std::string(word);
  return out;
}

std::string tokens(BleuTokenizer tokenizer, const std::string& line) {
  return joined(tokenize(tokenizer, line));
}

// Expected texts are what sacreBLEU 2.6.0's tokenisers give.
TEST(Tokenizers, MtevalKeepsPointsBetweenDigitsAndUndoesEscapes) {
  const auto t = BleuTokenizer::v13a;
  EXPECT_EQ(tokens(t, "1,000.5 a,b."), "1,000.5 a , b .");
  EXPECT_EQ(tokens(t, "&quot;Hi&quot; &amp;lt; <skipped>x"), "\" Hi \" < x");
  EXPECT_EQ(tokens(t, "a..b 5- it's -x"), "a . . b 5 - it's -x");
}

TEST(Tokenizers, InternationalCutsUnicodePunctuationAndSymbols) {
  const auto t = BleuTokenizer::intl;
  EXPECT_EQ(tokens(t, "„Ja“, 5€ 1.5"), "„ Ja “ , 5 € 1.5");
  EXPECT_EQ(tokens(t, "in 1999."), "in 1999.");            // mteval-v14 does not look past the end
  EXPECT_EQ(tokens(t, "a\U0001F8B2z"), "a \U0001F8B2 z");  // a symbol since Unicode 16
}

TEST(Tokenizers, CharactersAndChineseCharactersStandAlone) {
  EXPECT_EQ(tokens(BleuTokenizer::character, "a é 日"), "a é 日");
  EXPECT_EQ(tokens(BleuTokenizer::character, "né\t日"), "n é 日");
  EXPECT_EQ(tokens(BleuTokenizer::zh, "我爱NLP。"), "我 爱 NLP 。");
}

TEST(Tokenizers, AnUnknownNameListsWhatThereIs) {
  EXPECT_EQ(named<BleuTokenizer>("tokenize", "13a"), BleuTokenizer::v13a);
  EXPECT_STREQ(name_of(BleuTokenizer::character), "char");
  EXPECT_THROW(named<BleuTokenizer>("tokenize", "ja-mecab"), Error);
}

TEST(Tercom, NormalisesAndDropsPunctuationOnRequest) {
  EXPECT_EQ(tercom_tokenize({}, "The  Cat's, Mat"), "the cat's, mat");
  EXPECT_EQ(tercom_tokenize({.normalized = true}, "The Cat's 3.5, (mat)"),
            "the cat 's 3.5 , ( mat )");
  EXPECT_EQ(tercom_tokenize({.no_punct = true, .case_sensitive = true}, "A, (b)!"), "A b");
  EXPECT_EQ(tercom_tokenize({.normalized = true, .asian_support = true}, "日本。x"), "日 本 。 x");
  EXPECT_EQ(tercom_tokenize({.no_punct = true, .asian_support = true}, "日本。x"), "日本x");
}

}  // namespace
}  // namespace residual::metrics
