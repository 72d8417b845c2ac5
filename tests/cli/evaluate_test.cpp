// residual evaluate: the same figures as translate and score, one after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/models.h"

namespace residual {
namespace {

using nlohmann::json;
using test::lines_of;
using testing::HasSubstr;
using testing::StartsWith;

class Evaluate : public test::ModelCommands {};

TEST_F(Evaluate, PrintsTheScoresOfTranslateAndScore) {
  output("printf 'a b c d e\\nf g h i\\nj k l m n o\\n' > @source; rev @source > @reference");
  const std::string options = " --model @resi-dual --beam 3 ";
  const std::string scored = output("residual translate @source" + options +
                                    "| residual score --ref @reference - -m bleu chrf ter");
  const std::string evaluated = output(
      "residual evaluate --source @source --reference @reference -o @translations" + options);
  EXPECT_THAT(evaluated, StartsWith(scored));
  EXPECT_THAT(evaluated.substr(scored.size()), StartsWith("3 sentences, "));
  EXPECT_THAT(evaluated, HasSubstr(" tokens/s; loaded in "));
  EXPECT_EQ(output("cat @translations"), output("residual translate @source" + options));

  const json all =
      json::parse(output("residual evaluate -s @source -r @reference --json --width 4" + options));
  const json scores =
      json::parse(output("residual score --ref @reference @translations -m bleu "
                         "chrf ter --json --width 4"));
  EXPECT_EQ(all["scores"], scores);
  EXPECT_EQ(all["sentences"], 3);
  EXPECT_EQ(all["source_tokens"], 18);
  EXPECT_GT(all["tokens_per_second"], 0);
}

TEST_F(Evaluate, KeepsALineWithSeveralSentencesAsOne) {
  output(
      "echo 'a b c ! d e f ! g h i' > @several; rev @several > @reversed; residual evaluate -s "
      "@several -r @reversed -o @kept --model @resi-dual");
  const std::string translate = "residual translate @several --model @resi-dual";
  EXPECT_EQ(output("cat @kept"), output(translate + " --sentences keep"));
  EXPECT_NE(output("cat @kept"), output(translate));
}

TEST_F(Evaluate, TakesTheTestSetOfAPreparedCorpus) {
  output(
      "mkdir @raw; cd @raw; for split in dev test; do printf 'a b c d\\ne f g h\\n' > $split.ab; "
      "rev $split.ab > $split.ba; done; printf 'i j k l m\\nn o p q r\\n' > train.ab; "
      "rev train.ab > train.ba; residual prepare --source-lang ab --target-lang ba --data . "
      "--train train --dev dev --test test -o @prepared");
  const std::string with = " --model @post-ln";
  const auto scores = [&](const std::string& options) {
    return json::parse(output("residual evaluate --json" + with + options))["scores"];
  };
  EXPECT_EQ(scores(" --data @prepared"), scores(" -s @raw/test.ab -r @raw/test.ba"));
  EXPECT_EQ(scores(" --data @prepared --split dev --to ba"),
            scores(" -s @raw/dev.ab -r @raw/dev.ba"));
  expect_failure("residual evaluate --data @prepared --from de" + with, 1,
                 "has no test corpus for these languages");
}

TEST_F(Evaluate, SaysWhatDoesNotGoTogetherBeforeItTranslates) {
  output("echo a b > @one");
  const std::string command = "residual evaluate --model @post-ln ";
  expect_failure(command + "--data @prepared --pieces", 2, "--data gives raw text");
  expect_failure(command + "-s - -r - < @one", 2, "standard input (-) is given twice");
  expect_failure(command + "-s @one -r @one --json -o -", 2, "cannot both go to standard output");
  expect_failure(command + "-s @one -r @one -o /nonexistent/x", 1,
                 "the directory /nonexistent does not exist");
  output(command + "-s @one -r @one --no-repeat-ngram 1 --min-length 40 --max-length 50");
}

TEST_F(Evaluate, WarnsWhenOnlyTheReferencesHaveUpperCase) {
  output("printf 'a b c d\\n' > @source; printf 'D C B A\\n' > @reference");
  const std::string evaluate =
      "residual -q evaluate -s @source -r @reference --model @post-ln 2>&1 >/dev/null";
  EXPECT_THAT(output(evaluate), HasSubstr("use --lowercase to ignore case"));
  EXPECT_EQ(output(evaluate + " --lowercase"), "");
}

TEST_F(Evaluate, PrintsTheScoresOfTranslationsThatItCannotWrite) {
  output("printf 'a b c d e\\nf g h i\\n' > @source; rev @source > @reference");
  const auto result = run("residual evaluate -m @post-ln -s @source -r @reference -o /dev/full");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("2 sentences, "));
  EXPECT_THAT(result.error, HasSubstr("/dev/full"));
}

TEST_F(Evaluate, NeedsATestSet) {
  const std::string with = " --model @post-ln";
  expect_failure("residual evaluate" + with, 2, "--data, or --source and --reference, is required");
  expect_failure("residual evaluate -s <(echo a) -r <(printf 'a\\nb\\n')" + with, 1,
                 "has 1 lines, its reference");
  expect_failure("residual evaluate -s /dev/null -r /dev/null" + with, 1, "/dev/null: is empty");
  expect_failure("residual evaluate --data /nonexistent" + with, 1, "/nonexistent");
}

}  // namespace
}  // namespace residual
