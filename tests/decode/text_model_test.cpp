// Texts in and out of language and masked models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "decode/language/generator.h"
#include "decode/language/masked.h"
#include "decode/language/text_score.h"
#include "decode/score.h"
#include "support/models.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

using test::random_model;
using testing::HasSubstr;
using testing::SizeIs;

// Words "w4" ... "w49", and pieces of words, "p@@".
TextSide words_side() {
  std::string lines;
  for (int i = 4; i < 50; ++i) lines += fmt::format("{}{} 1\n", i % 5 == 0 ? "p" : "w", i);
  TextSide side;
  side.vocabulary = std::make_shared<text::Vocabulary>(text::Vocabulary::parse(lines, "test"));
  return side;
}

std::shared_ptr<const Weights> model_of(model::Kind kind) {
  model::Config config = test::small_config();
  config.kind = kind;
  return random_model(config).weights();
}

std::vector<std::string> texts() {
  return {"w4 w6 w7", "", "p5 w8", "w9 w11 w12 p10 w4 w4 w4 w13 w44 w42 w6 p15"};
}

GeneratorOptions options_of(int64_t tokens) {
  GeneratorOptions options;
  options.search.max_length_offset = static_cast<double>(tokens);
  options.crew.threads = 2;
  return options;
}

TEST(Generator, ContinuesAPromptWhereItEnds) {
  Generator generator({model_of(model::Kind::language)}, words_side(), options_of(8));
  std::vector<std::future<Generator::Result>> results;
  for (const auto& text : texts()) results.push_back(generator.submit({.text = text}));
  for (size_t i = 0; i < results.size(); ++i) {
    const auto result = results[i].get();
    ASSERT_THAT(result.continuations, SizeIs(1));
    const Continuation& made = result.continuations[0];
    EXPECT_EQ(made.log_probabilities.size(), made.tokens.size() + 1);
    EXPECT_EQ(made.is_cut, made.tokens.size() == 8);
    const bool begins_word = !texts()[i].empty() && !made.text.empty();
    EXPECT_TRUE(!begins_word || made.text[0] == ' ');
    TextCodec codec(words_side());
    EXPECT_EQ(codec.ids(texts()[i] + made.text, "text", 1).size(),
              static_cast<size_t>(result.prompt_tokens) + made.tokens.size());
  }
}

TEST(Generator, TellsTheTextInPartsThatMakeTheWhole) {
  Generator generator({model_of(model::Kind::language)}, words_side(), options_of(20));
  std::string told;
  int parts = 0;
  const auto progress = [&](std::string_view text) {
    told += text;
    ++parts;
  };
  const auto result = generator.submit({.text = "w4 w6 w7", .progress = progress}).get();
  EXPECT_EQ(told, result.continuations[0].text);
  EXPECT_GT(parts, 3);
}

TEST(Generator, SaysWhenAPromptLeavesNoRoom) {
  Generator generator({model_of(model::Kind::language)}, words_side(), options_of(20));
  std::string text;
  for (int i = 0; i < 63; ++i) text += "w4 ";
  EXPECT_THROW(
      try { generator.submit({.text = text, .number = 3}); } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("prompt 3: has 63 tokens"));
        throw;
      },
      Error);
  text.resize(text.size() - 3);
  const auto result = generator.submit({.text = text}).get();
  EXPECT_LE(result.continuations[0].tokens.size(), 1u);
}

TEST(TextScorer, GivesADocumentTheSumOfItsTokens) {
  const auto model = model_of(model::Kind::language);
  const TextScorer scorer({model}, words_side(), {});
  const auto documents = texts();
  const auto scores = scorer.score(documents);
  TextCodec codec(words_side());
  for (size_t i = 0; i < documents.size(); ++i) {
    Pair pair = {{}, codec.ids(documents[i], "document", 1)};
    pair.target.push_back(text::Vocabulary::kEos);
    Engine engine(model);
    const auto each = decode::score({&engine, 1}, {&pair, 1})[0];
    const double sum = std::accumulate(each.begin(), each.end(), 0.0);
    EXPECT_EQ(scores[i].log_probability, sum);
    EXPECT_EQ(scores[i].tokens, pair.target.size());
    EXPECT_EQ(scores[i].bytes, documents[i].size());
  }
  EXPECT_EQ(scores[3].words, 12u);
  EXPECT_NEAR(std::log(scores[3].perplexity(scores[3].words)) * 12, -scores[3].log_probability,
              1e-9);
}

// Windows of one token have no context: every token is scored as the first of a text.
TEST(TextScorer, ScoresEveryTokenOnceWhateverTheWindows) {
  const auto model = model_of(model::Kind::language);
  const std::vector<std::string> documents = {texts()[3]};
  for (const int64_t window : {1, 2, 5, 12, 13}) {
    for (const int64_t context : {0, 1, 4}) {
      if (context >= window) continue;
      const TextScorer scorer({model}, words_side(), {.window = window, .context = context});
      EXPECT_EQ(scorer.score(documents)[0].tokens, 13u);
    }
  }
  TextCodec codec(words_side());
  Engine engine(model);
  double sum = 0;
  auto ids = codec.ids(documents[0], "document", 1);
  ids.push_back(text::Vocabulary::kEos);
  for (const int32_t id : ids) {
    const Pair pair = {{}, {id}};
    sum += decode::score({&engine, 1}, {&pair, 1})[0][0];
  }
  const TextScorer scorer({model}, words_side(), {.window = 1});
  EXPECT_NEAR(scorer.score(documents)[0].log_probability, sum, 1e-4);
  // The last token of each window of 13, and one more with one token of context.
  const TextScorer narrow({model}, words_side(), {.window = 12, .context = 11});
  const TextScorer whole({model}, words_side(), {});
  Pair last = {{}, {ids.begin() + 1, ids.end()}}, first = {{}, {ids.begin(), ids.end() - 1}};
  const auto a = decode::score({&engine, 1}, {&first, 1})[0];
  const auto b = decode::score({&engine, 1}, {&last, 1})[0];
  double want = b.back();
  for (const float each : a) want += each;
  EXPECT_NEAR(narrow.score(documents)[0].log_probability, want, 1e-4);
}

TEST(TextScorer, RefusesWindowsThatTheModelCannotRead) {
  const auto model = model_of(model::Kind::language);
  EXPECT_THROW(TextScorer({model}, words_side(), {.window = 65}), Error);
  EXPECT_THROW(TextScorer({model}, words_side(), {.window = 4, .context = 4}), Error);
}

TEST(MaskedModel, GuessesWhatIsLikeliestAtEachMask) {
  const auto weights = model_of(model::Kind::masked);
  MaskedModel model(weights, words_side());
  const std::vector<std::string> lines = {"w4 <mask> w6 <mask>", "w8", "<mask>"};
  const auto filled = model.fill(lines, 3);
  EXPECT_EQ(filled[1].text, "w8");
  ASSERT_THAT(filled[0].guesses, SizeIs(2));
  const std::vector<int32_t> ids = {4, 0, 6, 0, 2};
  const std::span<const int32_t> source = ids;
  Engine engine(weights);
  const Rows rows = engine.encode_rows({&source, 1}, nullptr);
  std::vector<float> logits(50);
  engine.project(rows, 1, 1, logits.data(), nullptr);
  const float sum = kernels::log_sum_exp(logits.data(), 50);
  const auto& guesses = filled[0].guesses[0];
  ASSERT_THAT(guesses, SizeIs(3));
  for (const Guess& guess : guesses) {
    EXPECT_NEAR(guess.log_probability, logits[guess.token] - sum, 1e-5);
  }
  for (int32_t id = 4; id < 50; ++id) EXPECT_LE(logits[id], logits[guesses[0].token]);
  EXPECT_THAT(filled[0].text, HasSubstr(words_side().vocabulary->symbol(guesses[0].token)));
}

TEST(MaskedModel, EmbedsALineAloneAsAmongOthers) {
  const auto weights = model_of(model::Kind::masked);
  MaskedModel model(weights, words_side());
  const auto lines = texts();
  const auto together = model.embed(lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(model.embed({&lines[i], 1})[0], together[i]);
  }
  EXPECT_THAT(together[1], testing::Each(0.0F));
  EXPECT_NE(together[0], together[2]);
}

}  // namespace
}  // namespace residual::decode
