// Commands of language and masked models, on the models of tests/fixtures/language.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/models.h"
#include "support/paths.h"

namespace residual {
namespace {

using nlohmann::json;
using test::lines_of;
using testing::HasSubstr;
using testing::SizeIs;

class TextModels : public test::ModelCommands {
 protected:
  static void SetUpTestSuite() {
    ModelCommands::SetUpTestSuite();
    output("cp '" + test::fixtures() + "'/language/*.residual @");
  }
  const std::string generate_ = "residual generate --model @language.residual --max-tokens 12 ";
};

TEST_F(TextModels, StreamedTextIsTheTextThatComesAtOnce) {
  output("printf 'The quiet\\nThose red\\n\\n' > @prompts");
  for (const std::string options : {"", "--sample --seed 5"}) {
    const auto whole = output(generate_ + options + " @prompts");
    EXPECT_THAT(lines_of(whole), SizeIs(3));
    EXPECT_EQ(output(generate_ + options + " --stream @prompts"), whole);
  }
}

TEST_F(TextModels, APromptIsContinuedAloneAsAmongOthers) {
  output("for i in $(seq 40); do echo The red lake $i will; done > @many");
  const std::string options = "--sample --beam 2 --n-best 2 --precision int8 --json ";
  const auto all = lines_of(output(generate_ + options + "@many --threads 2"));
  ASSERT_THAT(all, SizeIs(40));
  const auto one = output(generate_ + options + "--prompt 'The red lake 17 will' --threads 1");
  EXPECT_EQ(json::parse(one)["continuations"], json::parse(all[16])["continuations"]);
}

TEST_F(TextModels, AGeneratedTextHasTheProbabilityThatItWasGeneratedWith) {
  const auto made = json::parse(
      output("residual generate --model @language.residual --json --prompt '' --max-tokens 40"));
  const json text = made["continuations"][0];
  ASSERT_EQ(text["finish_reason"], "stop");
  double sum = 0;
  for (const double each : text["log_probabilities"]) sum += each;
  output("echo '" + text["text"].get<std::string>() + "' > @generated");
  const auto scored =
      json::parse(output("residual score-text --model @language.residual --json @generated"));
  EXPECT_NEAR(scored["log_probability"].get<double>(), sum, 1e-3);
  EXPECT_EQ(scored["tokens"], text["pieces"].size() + 1);
}

TEST_F(TextModels, DocumentsAndLinesGiveTheSameScores) {
  output("printf 'A horse\\nopens a door.\\n\\nThe queen sings.\\n' > @documents");
  output("printf 'A horse opens a door.\\nThe queen sings.\\n' > @lines");
  const std::string score = "residual score-text --model @language.residual ";
  EXPECT_EQ(output(score + "@documents"), output(score + "--lines @lines"));
  EXPECT_EQ(output(score + "--each @documents"), output(score + "--each --lines @lines"));
  EXPECT_EQ(output("residual evaluate --model @language.residual --source @documents"),
            output(score + "@documents"));
  expect_failure(score + "/dev/null", 1, "there is no text to score");
  expect_failure(score + "--window 100 @lines", 1,
                 "the window is 100; the model takes from 1 to 64");
}

TEST_F(TextModels, PreparedTextIsEvaluatedDocumentByDocument) {
  output("for i in $(seq 40); do printf 'The red lake\\nof %s sings.\\n\\n' $i; done > @text");
  output(
      "residual prepare -q --language en --train @text --set split.test_every=8 -o @prepared "
      "--set subwords.kind=none");
  const std::string model = "residual evaluate --model @language.residual ";
  EXPECT_EQ(output(model + "--data @prepared --json"),
            output(model + "--source @prepared/test.en.txt --json"));
}

TEST_F(TextModels, GapsAreFilledAndLinesEmbedded) {
  output("printf 'The quiet <mask> sings.\\nno gap\\n\\n' > @gaps");
  const auto filled =
      lines_of(output("residual fill --model @masked.residual --json --guesses 3 @gaps"));
  ASSERT_THAT(filled, SizeIs(3));
  const json first = json::parse(filled[0]);
  ASSERT_THAT(first["masks"], SizeIs(1));
  EXPECT_THAT(first["masks"][0], SizeIs(3));
  double sum = 0;
  for (const auto& guess : first["masks"][0]) sum += guess["probability"].get<double>();
  EXPECT_LE(sum, 1.00001);
  EXPECT_THAT(json::parse(filled[1])["masks"], SizeIs(0));
  const auto vectors = lines_of(output("residual embed --model @masked.residual @gaps"));
  ASSERT_THAT(vectors, SizeIs(3));
  EXPECT_EQ(std::ranges::count(vectors[0], '\t'), 31);
}

TEST_F(TextModels, OtherCommandsNameTheOneThatWouldDo) {
  expect_failure("echo a | residual translate --model @language.residual", 1,
                 "is a language model; use it with `residual generate`");
  expect_failure("echo a | residual translate --model @masked.residual", 1,
                 "is a masked model; use it with `residual fill`");
  expect_failure(generate_ + "--model @resi-dual --prompt a", 1,
                 "is a translation model; use it with `residual translate`");
  expect_failure("echo a | residual fill --model @language.residual", 1, "is a language model");
  expect_failure(generate_ + "--beam 2 --stream --prompt a", 2, "--stream");
  expect_failure(generate_ + "--top-k 3 --prompt a", 2, "--sample");
}

}  // namespace
}  // namespace residual
