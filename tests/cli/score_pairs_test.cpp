// residual score-pairs: the log-probabilities that translate reports, for given lines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/models.h"

namespace residual {
namespace {

using nlohmann::json;
using test::lines_of;
using testing::HasSubstr;

class ScorePairs : public test::ModelCommands {};

TEST_F(ScorePairs, GivesATranslationTheScoreThatTheSearchGaveIt) {
  output("printf 'a b c\\nd e f g\\nh\\n' > @source");
  for (const std::string model :
       {"--model @post-ln", "--model @resi-dual --precision int8",
        "--model @post-ln --model @pre-ln", "--model @post-ln --model @post-ln --average"}) {
    SCOPED_TRACE(model);
    const auto translated = lines_of(output("residual translate @source --json " + model));
    output("residual translate @source -o @target " + model);
    const auto scored =
        lines_of(output("residual score-pairs @source @target --json --per-token " + model));
    ASSERT_EQ(scored.size(), 3U);
    for (size_t i = 0; i < scored.size(); ++i) {
      const json given = json::parse(translated[i])["translations"][0];
      const json found = json::parse(scored[i]);
      EXPECT_EQ(found["line"], i + 1);
      EXPECT_EQ(found["pieces"], given["pieces"]);
      EXPECT_NEAR(found["log_probability"].get<double>(), given["log_probability"].get<double>(),
                  1e-4);
      EXPECT_NEAR(found["per_token"].get<double>(), given["score"].get<double>(), 1e-4);
      for (size_t t = 0; t < given["log_probabilities"].size(); ++t) {
        EXPECT_NEAR(found["log_probabilities"][t].get<double>(),
                    given["log_probabilities"][t].get<double>(), 1e-4);
      }
    }
  }
}

TEST_F(ScorePairs, TextHasTheSumAndTheMeanPerToken) {
  const auto lines =
      lines_of(output("residual score-pairs --model @post-ln --per-token "
                      "<(printf 'a b c\\n\\n') <(printf 'c b a\\n\\n')"));
  ASSERT_EQ(lines.size(), 2U);
  std::istringstream columns(lines[0]);
  double sum = 0, mean = 0, rest = 0;
  columns >> sum >> mean;
  for (double each = 0; columns >> each;) rest += each;
  EXPECT_NEAR(sum, rest, 1e-3);
  EXPECT_NEAR(mean, sum / 4, 1e-3);  // c b a </s>
}

TEST_F(ScorePairs, FilesMustBeParallelAndTextValid) {
  expect_failure("residual score-pairs --model @post-ln <(echo a) <(printf 'a\\nb\\n')", 1,
                 "has 1 lines, ");
  expect_failure("residual score-pairs --model @post-ln <(printf 'a\\nb\\n') <(echo a)", 1,
                 "has 1 lines, ");
  expect_failure("residual score-pairs --model @post-ln <(printf 'a\\n\\377\\n') <(echo a)", 1,
                 ":2: byte 1 of the line (0xff)");
  expect_failure(
      "residual score-pairs --model @short <(printf 'a\\nb\\n') "
      "<(printf 'a\\na b c d e f g h i\\n')",
      1, "pair 2: has 10 tokens on a side, the model takes 8");
  expect_failure("residual score-pairs --model @post-ln /nonexistent /dev/null", 1, "cannot open");
  expect_failure("residual score-pairs --model @post-ln - - < /dev/null", 2, "is given twice");
  expect_failure(
      "residual score-pairs --model @post-ln <(echo a) <(head -c 200000 /dev/zero | tr '\\0' a)", 1,
      "pair 1: has 200000 bytes without a space");
  EXPECT_EQ(output("residual score-pairs --model @post-ln /dev/null /dev/null"), "");
}

TEST_F(ScorePairs, NamesTheFirstPairThatIsTooLongWhateverTheThreads) {
  output(
      "for i in {1..130}; do if [ $i = 40 ] || [ $i = 70 ]; then echo a b c d e f g h i j k; "
      "else echo a b; fi; done > @pairs");
  for (const std::string threads : {"1", "2", "3"}) {
    expect_failure("residual score-pairs -m @short @pairs @pairs --threads " + threads, 1,
                   "pair 40: ");
  }
}

TEST_F(ScorePairs, SumsUpAllPairs) {
  output("printf 'a b c\\na b\\n' > @s; printf 'c b a\\nb a\\n' > @t");
  const std::string command = "residual score-pairs --model @post-ln @s @t";
  double sum = 0;
  for (const auto& line : lines_of(output(command))) sum += std::stod(line);
  const json all = json::parse(output(command + " --summary --json"));
  EXPECT_EQ(all["pairs"], 2);
  EXPECT_EQ(all["tokens"], 7);
  EXPECT_NEAR(all["log_probability"], sum, 1e-3);
  EXPECT_NEAR(all["perplexity"], std::exp(-sum / 7), 1e-3);
  EXPECT_THAT(output(command + " --summary"), HasSubstr("2 pairs, 7 tokens: log-probability -"));
  expect_failure(command + " --summary --per-token", 2, "--per-token");
  expect_failure("residual score-pairs --model @post-ln /dev/null /dev/null --summary", 1,
                 "there are no pairs");
}

}  // namespace
}  // namespace residual
