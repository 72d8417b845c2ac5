// residual evaluate: the same figures as translate and score, one after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/models.h"

namespace residual {
namespace {

using nlohmann::json;
using test::lines_of;
using testing::HasSubstr;
using testing::Not;
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

// A model of English, de and ar in all directions with English, and test sets of three pairs.
std::string many_directions() {
  std::string directions;
  for (const std::string language : {"de", "ar"}) {
    const std::string tag = language == "de" ? "t" : "s";
    directions += "[[directions]]\nsource = \"en\"\ntarget = \"" + language +
                  "\"\nsource_tag = \"" + tag + "\"\n[[directions]]\nsource = \"" + language +
                  "\"\ntarget = \"en\"\nsource_tag = \"r\"\n";
  }
  return "rm -rf @many @sets && cp -r @resi-dual @many && cd @many && rm checksums.txt && printf "
         "'" +
         directions +
         "' >> config.toml && for l in en de ar; do cp segmentation.ab.toml segmentation.$l.toml; "
         "done\n"
         "cd @; for pair in de-en ar-en ar-de; do mkdir -p sets/$pair; for l in ${pair%-*} "
         "${pair#*-}; do printf 'a b c d e\\nf g h i %s\\n' $l | tr dr g > sets/$pair/test.$l; "
         "done; done; rev sets/ar-en/test.ar > sets/ar-en/test.en; mkdir sets/notes\n";
}

TEST_F(Evaluate, TakesAllDirectionsAndTheirMeans) {
  output(many_directions());
  const json all = json::parse(
      output("residual evaluate --model @many --data @sets --json --width 6 --beam 2 -o @written"));
  ASSERT_EQ(all["directions"].size(), 6u);
  std::map<std::string, std::vector<double>> bleu;  // by group
  for (const auto& direction : all["directions"]) {
    const std::string from = direction["from"], to = direction["to"];
    const std::string pair = from < to ? from + "-" + to : to + "-" + from;
    const std::string options = " --beam 2 --model @many --from " + from + " --to " + to;
    const json alone =
        json::parse(output("residual -q evaluate --json --width 6 -s @sets/" + pair + "/test." +
                           from + " -r @sets/" + pair + "/test." + to + options));
    EXPECT_EQ(direction["scores"], alone["scores"]) << from << to;
    EXPECT_EQ(direction["tokens"], alone["tokens"]);
    EXPECT_EQ(
        output("cat @written/" + from + "-" + to + ".txt"),
        output("residual -q translate --sentences keep @sets/" + pair + "/test." + from + options));
    const double score = direction["scores"][0]["score"];
    bleu[from == "en" ? "from_english"
         : to == "en" ? "to_english"
                      : "without_english"]
        .push_back(score);
    bleu["all"].push_back(score);
  }
  EXPECT_EQ(all["means"].size(), 4u);
  for (const auto& [group, scores] : bleu) {
    EXPECT_EQ(all["means"][group]["directions"], scores.size());
    const double mean =
        std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
    EXPECT_NEAR(all["means"][group]["BLEU"].get<double>(), mean, 2e-6) << group;
  }
  EXPECT_EQ(all["sentences"], 12);

  const std::string table = output("residual evaluate --model @many --data @sets --to en");
  EXPECT_THAT(table,
              HasSubstr("direction                sentences    BLEU   chrF2     TER\nar-en"));
  EXPECT_THAT(table, HasSubstr("\nto English                       2 "));
  EXPECT_THAT(table, Not(HasSubstr("from English")));
  EXPECT_THAT(table, HasSubstr("\n4 sentences, "));
}

TEST_F(Evaluate, TakesBothDirectionsOfAPreparedCorpus) {
  output(many_directions());
  output(
      "mkdir @pair; cd @pair; for split in train dev test; do printf 'a b c d\\ne f g %s\\n' "
      "$split | tr -d raivn > $split.de; rev $split.de > $split.en; done; residual prepare "
      "--source-lang de --target-lang en --data . --train train --dev dev --test test --set "
      "both_directions=true --set vocabulary.joined=true --set clean.overlap=keep -o @two");
  const json all = json::parse(output("residual evaluate --model @many --data @two --json"));
  ASSERT_EQ(all["directions"].size(), 2u);
  const json one =
      json::parse(output("residual evaluate --model @many --data @two --from en --json"));
  for (const auto& direction : all["directions"]) {
    if (direction["from"] == "en") {
      EXPECT_EQ(direction["scores"], one["scores"]);
    }
  }
}

TEST_F(Evaluate, OfSeveralDirectionsSaysWhatItCannotDo) {
  output(many_directions());
  const std::string command = "residual evaluate --data @sets --model ";
  expect_failure(command + "@many -o -", 2, "give a directory");
  expect_failure(command + "@many --terms @letters", 2, "--terms are of one direction");
  expect_failure(command + "@many --from fr", 1, "nor folders for these languages");
  expect_failure(command + "@post-ln", 1, "does not translate ar to de; it translates ab-ba");
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
