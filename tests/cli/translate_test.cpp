// residual translate as its users meet it. What the search itself does is tested in tests/decode.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/models.h"
#include "model/safetensors.h"
#include "support/paths.h"
#include "text/vocabulary.h"

namespace residual {
namespace {

using nlohmann::json;
using test::lines_of;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Translate : public test::ModelCommands {};

// Tokens of the fixture as letters; </s> is left out.
std::string letters(const model::TensorView& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t id = 0;
    std::memcpy(&id, tensor.bytes.data() + i * sizeof(id), sizeof(id));
    if (id < text::Vocabulary::kSpecials) continue;
    if (!text.empty()) text += ' ';
    text += static_cast<char>('a' + id - text::Vocabulary::kSpecials);
  }
  return text;
}

model::SafeTensors fixture(const std::string& scheme) {
  return model::SafeTensors::open(fs::path(test::fixtures()) / "fairseq" /
                                  (scheme + "-beam.safetensors"));
}

std::string sources(const std::string& scheme) {
  const auto file = fixture(scheme);
  std::string text;
  for (int i = 0; i < 24; ++i) text += letters(file.at("source." + std::to_string(i))) + "\n";
  return text;
}

TEST_F(Translate, GivesFairseqsTranslationsAndScoresAtEveryRank) {
  for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
    const auto file = fixture(scheme);
    const auto lines = lines_of(
        output("echo '" + sources(scheme) + "' | head -n 24 | residual " + "translate --model @" +
               scheme + " --beam 4 --n-best 4 --length-penalty 0.6 " + "--max-length-factor 1.2"));
    ASSERT_EQ(lines.size(), 96U);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string name =
          "beam4.lenpen0.6." + std::to_string(i / 4) + ".rank" + std::to_string(i % 4);
      EXPECT_THAT(lines[i], StartsWith(std::to_string(i / 4) + " ||| " +
                                       letters(file.at(name + ".tokens")) + " ||| F0= "));
      const double score = std::stod(lines[i].substr(lines[i].rfind("||| ") + 4));
      EXPECT_NEAR(score, file.at(name + ".score").to_float()[0], 1.5e-4) << name;
    }
  }
}

TEST_F(Translate, KeepsTheOrderOfLinesWhateverTheThreadsAndBatches) {
  const std::string text = sources("resi-dual");
  const auto translated = [&](const std::string& options) {
    return output("for i in {1..20}; do echo '" + text + "'; done | residual translate " +
                  "--model @resi-dual " + options);
  };
  const std::string once = output("echo '" + text + "' | residual translate --model @resi-dual");
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += once;
  EXPECT_EQ(translated("--threads 3 --batch-tokens 64"), expected);
  EXPECT_EQ(translated("--threads 1 --batch-sentences 1"), expected);
}

TEST_F(Translate, GivesEmptyLinesForLinesWithoutAWord) {
  const auto lines = lines_of(
      output("printf '\\na b c\\n  \\n\\t\\na b c' | residual translate --model @post-ln"));
  ASSERT_EQ(lines.size(), 5U);
  for (const int i : {0, 2, 3}) EXPECT_THAT(lines[i], IsEmpty());
  EXPECT_EQ(lines[1], lines[4]);
  EXPECT_NE(lines[1], "");
  EXPECT_EQ(output("residual translate --model @post-ln < /dev/null"), "");
}

TEST_F(Translate, WritesAFileThatAppearsWhole) {
  output("residual translate --model @post-ln -o @out.txt <(echo a b c)");
  EXPECT_EQ(output("cat @out.txt"), output("echo a b c | residual translate --model @post-ln"));
  expect_failure("printf 'a\\n\\377\\n' | residual translate --model @post-ln -o @never.txt", 1,
                 "standard input:2: byte 1 of the line (0xff) is not valid UTF-8");
  EXPECT_FALSE(fs::exists(path("never.txt")));
}

TEST_F(Translate, JsonHasEverythingAboutEachLine) {
  const auto lines = lines_of(output(
      "printf 'a b c\\n\\n' | residual translate --model @post-ln --json --n-best 2 --alignments"));
  ASSERT_EQ(lines.size(), 2U);
  const json line = json::parse(lines[0]);
  EXPECT_EQ(line["line"], 1);
  EXPECT_EQ(line["source_pieces"], json({"a", "b", "c"}));
  ASSERT_EQ(line["translations"].size(), 2U);
  for (const auto& each : line["translations"]) {
    const size_t pieces = each["pieces"].size();
    ASSERT_EQ(each["log_probabilities"].size(), pieces + 1);
    double sum = 0;
    for (const double p : each["log_probabilities"]) sum += p;
    EXPECT_NEAR(each["log_probability"].get<double>(), sum, 1e-4);
    EXPECT_NEAR(each["score"].get<double>(), sum / static_cast<double>(pieces + 1), 1e-4);
    ASSERT_EQ(each["attention"].size(), pieces);
    for (const auto& row : each["attention"]) EXPECT_EQ(row.size(), 3U);
  }
  const json empty = json::parse(lines[1]);
  EXPECT_EQ(empty["translations"][0]["text"], "");
  EXPECT_EQ(empty["source_pieces"], json::array());
}

TEST_F(Translate, AlignmentsNameTheSourcePieceWithMostAttention) {
  const auto row = json::parse(output(
      "echo a b c d | residual translate --model @resi-dual --json --alignments"))["translations"]
                                                                                  [0]["attention"];
  const auto text = output("echo a b c d | residual translate --model @resi-dual --alignments");
  const std::string pairs = text.substr(text.find("||| ") + 4);
  std::istringstream stream(pairs);
  int count = 0;
  for (std::string pair; stream >> pair; ++count) {
    const size_t source = std::stoul(pair), target = std::stoul(pair.substr(pair.find('-') + 1));
    for (const double other : row.at(target)) EXPECT_LE(other, row.at(target).at(source));
  }
  EXPECT_GT(count, 0);
}

TEST_F(Translate, BeginsWithTheForcedPrefix) {
  EXPECT_THAT(output("echo a b c | residual translate --model @post-ln --prefix 'q r'"),
              StartsWith("q r"));
  const auto lines =
      lines_of(output("printf 's\\n\\n' > p; printf 'a b\\nc d\\n' | "
                      "residual translate --model @post-ln --prefixes p"));
  EXPECT_THAT(lines[0], StartsWith("s"));
  EXPECT_EQ(lines[1] + "\n", output("echo c d | residual translate --model @post-ln"));
  expect_failure("echo s > p; printf 'a\\nb\\n' | residual translate --model @post-ln --prefixes p",
                 1, "p: has 1 lines, standard input has more; both must have");
}

TEST_F(Translate, ContainsPhrasesAndTerms) {
  const std::string translate = "residual translate --model @post-ln ";
  const auto lines = lines_of(output("printf 'q r\ts\n\n' > p; printf 'a b\nc d\n' | " + translate +
                                     "--phrases p --n-best 3"));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(lines[i], AllOf(HasSubstr("q r"), HasSubstr("s")));
  }
  const auto plain = lines_of(output("printf 'a b\nc d\n' | " + translate));
  EXPECT_THAT(lines[3], HasSubstr(plain[1]));
  const auto terms = lines_of(
      output("printf 'b c\tq r\n' > t; printf 'a b c\nb a c\n' | " + translate + "--terms t"));
  EXPECT_THAT(terms[0], HasSubstr("q r"));
  EXPECT_EQ(terms[1] + "\n", output("echo b a c | " + translate));
  expect_failure("echo s > p; printf 'a\nb\n' | " + translate + "--phrases p", 1,
                 "p: has 1 lines, standard input has more");
  expect_failure("printf 's\ns\n' > p; echo a | " + translate + "--phrases p", 1, "p has more");
  expect_failure("echo \u00e9 > p; echo a | " + translate + "--phrases p", 1,
                 "line 1: the model cannot write");
  expect_failure("yes s | head -65 | paste -s > p; echo a | " + translate + "--phrases p", 1,
                 "line 1: its translation is to contain 65 phrases");
  expect_failure("yes s | head -1100 | paste -sd' ' > p; echo a | " + translate + "--phrases p", 1,
                 "line 1: its prefix and phrases have 1100 tokens");
  expect_failure("printf 'z\\t\u00e9\\n' > t; echo a | " + translate + "--terms t", 1,
                 "t: the model cannot write");
  expect_failure("echo a b > t; echo a | " + translate + "--terms t", 1, "t:1: expected");
  expect_failure("echo a | " + translate + "--terms t --sample", 2,
                 "cannot be combined with --sample");
  expect_failure("echo a | " + translate + "--phrases p --sample", 2,
                 "cannot be combined with --sample");
  expect_failure("echo a | " + translate + "--phrases -", 2, "can be read only once");
}

TEST_F(Translate, DrawsTheSameSamplesForTheSameSeed) {
  const std::string sample =
      "echo a b c d e f | residual translate --model @post-ln --sample --beam 8 --n-best 8 ";
  const std::string first = output(sample + "--seed 3");
  EXPECT_EQ(first, output(sample + "--seed 3 --threads 1"));
  EXPECT_NE(first, output(sample + "--seed 4"));
  const auto lines = lines_of(first);
  EXPECT_GT(std::set(lines.begin(), lines.end()).size(), 1U);
  // The likeliest token alone is greedy search, however hot.
  const std::string greedy = output("echo a b c | residual translate --model @post-ln --beam 1");
  const std::string one = "echo a b c | residual translate --model @post-ln --beam 1 --sample ";
  EXPECT_EQ(output(one + "--top-k 1 --temperature 3"), greedy);
  EXPECT_EQ(output(one + "--top-p 0.0001"), greedy);
  expect_failure("residual translate --model @post-ln --top-k 3 < /dev/null", 2, "--sample");
  expect_failure("residual translate --model @post-ln --sample --seed -1 < /dev/null", 2, "--seed");
}

TEST_F(Translate, KeepsLengthsAndForbidsRepetitions) {
  const auto words = [&](const std::string& options) {
    return lines_of(output("echo a b c d e f g h | residual translate --model @post-ln --pieces " +
                           options + " | tr ' ' '\\n'"))
        .size();
  };
  EXPECT_LE(words("--max-length 3"), 3U);
  EXPECT_GE(words("--min-length 12"), 12U);
  EXPECT_LE(words("--max-length-factor 0.5 --max-length-offset 0"), 4U);
  expect_failure("residual translate --model @post-ln --min-length 9 --max-length 5 < /dev/null", 2,
                 "--min-length is 9, but a translation has 5 tokens at most");
  const auto lines = lines_of(
      output("echo a b a b a b a b | residual translate --model @resi-dual --no-repeat-ngram 1 "
             "--min-length 10 | tr ' ' '\\n' | sort | uniq -d"));
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(Translate, TakesWordsFromAShortlist) {
  output("printf 'a b 0.9\\nc d 0.5\\n' > @lex");
  const std::string few =
      "echo b d b d | residual translate --model @post-ln --pieces --min-length 4 --shortlist @lex "
      "--shortlist-frequent 0";
  for (const auto& word : lines_of(output(few + " | tr ' ' '\\n'"))) {
    EXPECT_THAT(word, testing::AnyOf("a", "b", "c", "d", "<s>", "<unk>"));
  }
  const std::string all = "echo b d b d | residual translate --model @post-ln --pieces";
  EXPECT_EQ(output(all + " --shortlist @lex --shortlist-frequent 1000"), output(all));
  expect_failure(all + " --shortlist-best 5", 2, "--shortlist");
  expect_failure(all + " --shortlist @nowhere", 1, "nowhere");
  for (const std::string other : {"--sample", "--no-repeat-ngram 2", "--repetition-penalty 1.2",
                                  "--unk-penalty -1", "--model @pre-ln"}) {
    expect_failure(all + " --shortlist @lex " + other, 2, "a shortlist does not go with");
  }
}

TEST_F(Translate, ReadsStandardInputOnce) {
  for (const std::string option : {"--shortlist", "--terms", "--phrases", "--prefixes"}) {
    expect_failure("echo a b | residual translate -m @post-ln " + option + " -", 2, "given twice");
    if (option == "--shortlist" || option == "--terms") {
      expect_failure("echo a b | residual evaluate -m @post-ln -s - -r @x " + option + " -", 2,
                     "given twice");
    }
  }
}

TEST_F(Translate, TakesPhrasesAndShortlistsWithLineEndsOfOtherSystems) {
  output(
      "printf 'a b c\\na b c\\n' > @two; printf 'k q\\tq\\n\\n' > @phrases; "
      "sed 's/$/\\r/' @phrases > @phrases.dos");
  const std::string command = "residual translate -m @post-ln @two --phrases ";
  EXPECT_EQ(output(command + "@phrases.dos"), output(command + "@phrases"));
  output("printf 'k a 0.5\\nq b 0.5\\n' > @list; sed 's/$/\\r/' @list > @list.dos");
  const std::string listed = "residual translate -m @post-ln @two --shortlist ";
  EXPECT_EQ(output(listed + "@list.dos"), output(listed + "@list"));
}

TEST_F(Translate, GivesAPhraseThatIsWantedTwiceNoMoreRoom) {
  output(
      "echo a b c > @one; printf 'k q k\\n' > @once; "
      "printf 'k q k%.0s\\t' {1..40} > @often; echo >> @often");
  const std::string command = "residual translate -m @post-ln @one --max-length 6 --phrases ";
  EXPECT_EQ(output(command + "@often"), output(command + "@once"));
}

TEST_F(Translate, RefusesAttentionOfALineThatIsTooLongForIt) {
  output("for i in {1..12000}; do printf 'a b. '; done > @long");
  const std::string command =
      "residual translate -m @short --beam 1 --max-length 2 --alignments @long";
  expect_failure(command, 1, "line 1: attention of ");
}

TEST_F(Translate, FailsThoughAPrefixIsWaitedFor) {
  const auto result =
      run("mkfifo @prefixes; (echo; sleep 20) > @prefixes & printf 'a b\\nc d\\n' > @two; "
          "timeout 10 residual translate -m @post-ln @two --prefixes @prefixes > /dev/full; "
          "code=$?; kill $!; exit $code");
  EXPECT_EQ(result.exit_code, 1) << result.error;
  EXPECT_THAT(result.error, HasSubstr("No space left"));
}

TEST_F(Translate, FindsDiverseTranslations) {
  const std::string command = "echo a b c d | residual translate -m @post-ln --beam 4 --n-best 4 ";
  std::set<std::string> first;
  for (const auto& line : lines_of(output(command + "--diverse-groups 4 --diverse-strength 20"))) {
    first.insert(line.substr(0, line.find(' ', 6)));
  }
  EXPECT_EQ(first.size(), 4U);
  expect_failure(command + "--diverse-groups 3", 2, "a beam of 4 cannot be divided into 3 groups");
  expect_failure(command + "--diverse-strength 1", 2, "--diverse-groups");
  expect_failure(command + "--diverse-groups 2 --stop bound", 2, "stop must be full");
  expect_failure(command + "--diverse-groups 2 --sample", 2, "--diverse-groups needs");
  // Lines with phrases are searched as one group, however wide.
  EXPECT_THAT(output("echo b > @phrases; " + command + "--diverse-groups 4 --phrases @phrases"),
              HasSubstr("b"));
}

TEST_F(Translate, FindsAlternativesAfterAPrefix) {
  const std::string command = "echo a b c d | residual translate -m @post-ln --beam 8 --prefix b ";
  std::set<std::string> second;
  for (const auto& line : lines_of(output(command + "--n-best 4 --alternatives"))) {
    EXPECT_THAT(line, testing::StartsWith("0 ||| b"));
    second.insert(line.substr(8, line.find(' ', 8) - 8));
  }
  EXPECT_EQ(second.size(), 4U);
  EXPECT_THAT(
      output("echo d > @phrases; " + command + "--n-best 4 --alternatives --phrases @phrases"),
      HasSubstr("d"));
  expect_failure(command + "--n-best 3 --alternatives", 2,
                 "a beam of 8 cannot be shared by 3 translations; 9 could be");
  expect_failure(command + "--n-best 4 --alternatives --stop first", 2, "stop must be full");
  expect_failure(command + "--n-best 4 --alternatives --diverse-groups 2", 2, "--diverse-groups");
}

TEST_F(Translate, RefusesPenaltiesThatAreNone) {
  const std::string command = "echo a b | residual translate --model @post-ln --pieces ";
  for (const std::string penalty : {"--repetition-penalty 0", "--repetition-penalty 1000",
                                    "--coverage-penalty -1", "--coverage-penalty 1000"}) {
    expect_failure(command + penalty, 2, "penalty");
  }
  expect_failure(command + "--alignment-layer 1", 2, "--alignment-layer");
  output(command + "--alignment-layer 1 --coverage-penalty 0.2");
}

TEST_F(Translate, LengthPenaltyZeroMakesScoresSums) {
  for (const auto& line : lines_of(output("echo '" + sources("pre-ln") +
                                          "' | head -n 24 | residual translate "
                                          "--model @pre-ln --n-best 2 --length-penalty 0"))) {
    const size_t sum = line.find("F0= ") + 4, score = line.rfind("||| ") + 4;
    EXPECT_EQ(line.substr(sum, line.find(' ', sum) - sum), line.substr(score));
  }
}

// But for the last digits of scores: one model alone has a screen.
TEST_F(Translate, EqualModelsDecideLikeOneAndOthersDoNot) {
  const auto found_by = [&](const std::string& models) {
    return output("echo '" + sources("post-ln") + "' | residual translate --n-best 3 " + models +
                  " | sed -E 's/ \\|\\|\\| F0=.* (-?[0-9]+\\.[0-9]{2})[0-9]*$/ \\1/'");
  };
  const std::string alone = found_by("--model @post-ln");
  EXPECT_THAT(alone, HasSubstr("0 ||| k k q q -0.91\n"));
  EXPECT_EQ(found_by("--model @post-ln --model @post-ln"), alone);
  EXPECT_NE(found_by("--model @post-ln --model @pre-ln"), alone);
}

TEST_F(Translate, EnsemblesAndMeansNeedModelsThatFit) {
  output(
      "cp -r @post-ln @other && rm @other/checksums.txt && sed -i 's/^a /z /' "
      "@other/vocabulary.txt");
  expect_failure("residual translate --model @post-ln --model @other < /dev/null", 1,
                 "have different vocabularies");
  output(
      "cp -r @post-ln @back && rm @back/checksums.txt && sed -i -E 's/^(source|target) = .*/\\1 = "
      "\"xx\"/' "
      "@back/config.toml");
  expect_failure("residual translate --model @post-ln --model @back < /dev/null", 1,
                 "it translates xx-xx");
  expect_failure("residual translate --model @post-ln --model @pre-ln --average < /dev/null", 1,
                 "have different architectures");
}

TEST_F(Translate, TheMeanIsWhatAverageWrites) {
  for (const std::string prefix : {"param", "train.param"}) {  // before and after training
    output("printf '%s 1\\n' {a..z} {A..J} > letters; residual import-fairseq '" +
           test::fixtures() +
           "/fairseq/resi-dual-e2d2.safetensors' --source-dictionary letters --source-language ab "
           "--target-language ba --tokenizer none --prefix " +
           prefix + ". -o @" + prefix);
  }
  output("residual average @param @train.param -o @mean");
  const std::string input = "echo '" + sources("resi-dual") + "' | residual translate --n-best 2 ";
  const std::string mean = output(input + "--model @mean");
  EXPECT_EQ(output(input + "--average --model @param --model @train.param"), mean);
  EXPECT_NE(output(input + "--model @param"), mean);
}

TEST_F(Translate, Int8DiffersLittleAndIsOneThingWhateverTheBatch) {
  const std::string input = "echo '" + sources("resi-dual") + "' | residual translate ";
  const std::string int8 = input + "--model @resi-dual --precision int8 --n-best 2 ";
  EXPECT_EQ(output(int8), output(int8 + "--threads 1 --batch-sentences 1"));
  EXPECT_NE(output(int8), output(input + "--model @resi-dual --n-best 2"));
}

TEST_F(Translate, LanguagesAreCheckedAgainstTheModels) {
  EXPECT_EQ(output("echo a b | residual translate --model @post-ln --from ab --to ba"),
            output("echo a b | residual translate --model @post-ln"));
  expect_failure("residual translate --model @post-ln --to fr < /dev/null", 1,
                 "does not translate any language to fr; it translates ab-ba");
}

TEST_F(Translate, PutsTheTagOfTheChosenDirectionBeforeTheSource) {
  output(
      "cp -r @post-ln @tagged && cd @tagged && rm checksums.txt && cp segmentation.ba.toml "
      "segmentation.cd.toml && "
      "printf '[[directions]]\\nsource = \"ab\"\\ntarget = \"cd\"\\nsource_tag = \"t\"\\n' >> "
      "config.toml");
  const std::string tagged =
      "printf 'a b c\\nd e\\n' | residual translate --n-best 2 --model @tagged";
  EXPECT_EQ(output(tagged + " --to cd"),
            output("printf 't a b c\\nt d e\\n' | residual translate --n-best 2 --model @post-ln"));
  expect_failure(tagged, 1, "translates ab-ba, ab-cd; choose one (from, to)");
}

// Directions through "en" only; the tag of the target makes the others.
TEST_F(Translate, TakesZeroShotDirectionsByTheTagOfTheTarget) {
  output(
      "cp -r @post-ln @zero && cd @zero && rm checksums.txt && for l in en de ar; do cp "
      "segmentation.ab.toml segmentation.$l.toml; done && printf "
      "'[[directions]]\\nsource = \"en\"\\ntarget = \"de\"\\nsource_tag = \"t\"\\n[[directions]]\\n"
      "source = \"ar\"\\ntarget = \"en\"\\nsource_tag = \"s\"\\n' >> config.toml");
  const std::string zero = "printf 'a b c\\nd e\\n' | residual -q translate --model @zero --from ";
  EXPECT_EQ(output(zero + "ar --to de"),
            output("printf 't a b c\\nt d e\\n' | residual translate --model @post-ln"));
  EXPECT_THAT(run(zero + "ar --to de").error,
              HasSubstr("was not trained on ar-de; this is a zero-shot direction"));
  EXPECT_EQ(run(zero + "en --to de").error, "");
  expect_failure(zero + "de --to ar", 1, "does not translate de to ar");
}

TEST_F(Translate, LongLinesAreSplitOrRefusedWithTheirNumber) {
  const std::string text = "printf 'a b\\na b c. d e f g h. i j k\\n' | ";
  EXPECT_EQ(lines_of(output(text + "residual translate --model @short")).size(), 2U);
  expect_failure(text + "residual translate --model @short --long-lines refuse", 1, "line 2: has ");
  // What came before it is delivered.
  EXPECT_EQ(
      lines_of(run(text + "residual translate --model @short --long-lines refuse").output).size(),
      1U);
}

TEST_F(Translate, ALineOfTenMegabytesIsSplit) {
  const std::string line =
      "head -c 10000000 /dev/zero | tr '\\0' 'x' | sed 's/x\\{999\\}/&\\n/g' | tr '\\n' ' ' | ";
  EXPECT_EQ(
      lines_of(output(line + "residual translate --model @post-ln --beam 1 --max-length 5")).size(),
      1U);
  expect_failure(line + "residual translate --model @post-ln --long-lines refuse", 1,
                 "line 1: has 100");
}

// Forty sentences of nine letters, a line; what each is translated to alone.
TEST_F(Translate, FortySentencesOnALineComeBackAsForty) {
  const std::string make =
      "for i in {1..40}; do for j in {1..9}; do printf \"\\\\x$(printf %x $((97 + "
      "(i * j) % 20))) \"; done; echo '!'; done > @forty\n";
  const auto apart = lines_of(output(make + "residual translate --model @post-ln < @forty"));
  ASSERT_EQ(apart.size(), 40U);
  std::string joined;
  for (const auto& line : apart) joined += (joined.empty() ? "" : " ") + line;
  const std::string one = "paste -sd' ' @forty | residual translate --model @post-ln";
  EXPECT_EQ(output(one), joined + "\n");
  EXPECT_NE(output(one + " --sentences keep"), joined + "\n");
}

TEST_F(Translate, AnImplausibleTranslationIsReportedWithItsLine) {
  const std::string text = "printf 'a b c\\na b c d e f g h i j k l m n\\n' | ";
  const auto got = run(text + "residual translate --model @post-ln --max-length 3");
  EXPECT_THAT(got.error, HasSubstr("line 2: the translation is much shorter than its source"));
  EXPECT_THAT(got.error, testing::Not(HasSubstr("line 1:")));
  const auto lines =
      lines_of(output(text + "residual translate --model @post-ln --max-length 3 --json"));
  EXPECT_FALSE(json::parse(lines[0])["translations"][0].contains("warnings"));
  EXPECT_EQ(json::parse(lines[1])["translations"][0]["warnings"], json({"short"}));
  const auto many =
      run("yes 'a b c d e f g h i j k l m n' | head -30 | residual translate --model "
          "@post-ln --max-length 3");
  EXPECT_THAT(many.error, HasSubstr("line 10: "));
  EXPECT_THAT(many.error, testing::Not(HasSubstr("line 11: ")));
  EXPECT_THAT(many.error, HasSubstr("20 more translations"));
}

TEST_F(Translate, ALineOf100000WordsShowsItsProgressInLittleMemory) {
  const std::string line =
      "for i in {1..10000}; do echo 'a b c d e f g h i !'; done | paste -sd' ' > @long\n";
  const auto got = run(line +
                       "ulimit -v 2000000; cat @long | residual --threads 2 translate --model "
                       "@post-ln --beam 1 | wc -l");
  EXPECT_THAT(got.output, HasSubstr("1"));
  EXPECT_THAT(got.error, HasSubstr("translate line 1: "));
}

TEST_F(Translate, AnHtmlFileKeepsItsStructure) {
  const std::string page =
      "<!doctype html>\n<html><head><title>a b</title><style>b { c: d }</style></head>\n"
      "<body class=\"a b\">\n  <p>a <b>b c</b> {d} "
      "e</p>\n<script>a(\"b\");</script>\n</body></html>";
  const auto got = output("cat > @page.html <<'END'\n" + page +
                          "\nEND\n"
                          "residual translate --model @post-ln --file @page.html");
  for (const std::string part :
       {"<!doctype html>\n<html><head><title>", "</title><style>b { c: d }</style></head>\n",
        "<body class=\"a b\">\n  <p>", "</p>\n<script>a(\"b\");</script>\n</body></html>\n", "<b>",
        "</b>", "{d}"}) {
    EXPECT_THAT(got, HasSubstr(part));
  }
  EXPECT_EQ(got, output("residual translate --model @post-ln --markup html < @page.html"));
  expect_failure("residual translate --model @post-ln --file @page.html @page.html", 2, "not both");
  expect_failure("residual translate --model @post-ln --file @page.html --n-best 2", 2, "--json");
}

TEST_F(Translate, APlainFileKeepsItsWhiteSpaceAndPlaceholders) {
  const auto got = output(
      "printf '  a b %%s\\r\\n\\n\\tc d' > @notes.txt\n"
      "residual translate --model @post-ln --file @notes.txt");
  EXPECT_THAT(got, StartsWith("  "));
  EXPECT_THAT(got, HasSubstr(" %s\r\n\n\t"));
  EXPECT_FALSE(got.ends_with('\n'));
}

TEST_F(Translate, TenMegabytesWithoutASpaceAreRefused) {
  expect_failure(
      "(echo a; head -c 10000000 /dev/zero | tr '\\0' x) | residual translate --model @post-ln", 1,
      "line 2: has 10000000 bytes without a space");
}

TEST_F(Translate, AByteOrderMarkIsNotTranslated) {
  EXPECT_EQ(output("printf '\\357\\273\\277a b c\\n' | residual translate --model @post-ln"),
            output("printf 'a b c\\n' | residual translate --model @post-ln"));
}

TEST_F(Translate, GivesALineWhereEveryTokenIsForbidden) {
  const auto lines = lines_of(
      output("printf 'a b c\\nd e\\n' | residual translate --model @post-ln --no-repeat-ngram 1 "
             "--min-length 40 --max-length 50"));
  EXPECT_EQ(lines.size(), 2U);
}

TEST_F(Translate, AThreadThatTheSystemRefusesIsAnError) {
  // Memory for a few threads' stacks.
  const auto result =
      run("ulimit -v 1000000; echo a b | residual translate --model @post-ln "
          "--threads 500");
  EXPECT_EQ(result.exit_code, 1) << result.error;
  EXPECT_THAT(result.error, HasSubstr("residual: error: "));
}

TEST_F(Translate, AnUnknownLanguageTagIsNamed) {
  output(
      "cp -r @post-ln @unknown-tag; rm @unknown-tag/checksums.txt; sed -i 's/^source_tag = "
      ".*/source_tag = \"<2xx>\"/' "
      "@unknown-tag/config.toml; grep -q 2xx @unknown-tag/config.toml");
  expect_failure("echo a | residual translate --model @unknown-tag", 1, "<2xx>, which goes before");
  const auto verified = run("residual verify @unknown-tag");
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_THAT(verified.output, HasSubstr("vocabulary.txt: has no <2xx>"));
}

TEST_F(Translate, BadInputsAreNamed) {
  expect_failure("residual translate < /dev/null", 2, "--model is required");
  expect_failure("residual translate --model /nonexistent < /dev/null", 1,
                 "/nonexistent: no such directory");
  expect_failure("mkdir d; residual translate --model d < /dev/null", 1, "not a model directory");
  expect_failure("residual translate --model @post-ln /nonexistent", 1,
                 "/nonexistent: cannot open");
  expect_failure("residual translate --model @post-ln --beam 0 < /dev/null", 2, "--beam");
  expect_failure("residual translate --model @post-ln --n-best 9 < /dev/null", 2,
                 "--n-best is 9, but a beam of 5 gives from 1 to 5");
  expect_failure("residual translate --model @post-ln --beam 63 < /dev/null", 2,
                 "--beam: must be at most 62, is 63");
  expect_failure("residual translate --model @post-ln --beam 99999999999999999999 < /dev/null", 2,
                 "99999999999999999999");
  expect_failure("residual translate --model @post-ln --length-penalty nan < /dev/null", 2,
                 "--length-penalty: must be a finite number, is nan");
  expect_failure("residual translate --model @post-ln --max-length 2 --max-length-factor 2", 2,
                 "--max-length-factor excludes --max-length");
  expect_failure("residual translate --model @post-ln --prefixes - < /dev/null", 2,
                 "can be read only once");
  expect_failure("residual translate --model @post-ln --prefixes <(printf 'a\\nb\\n') <(echo a)", 1,
                 "has 1 lines, ");
  expect_failure("residual translate --model @post-ln --precision int4 < /dev/null", 2, "int4");
  expect_failure("echo a b | residual translate --model @post-ln > /dev/full", 1,
                 "standard output: cannot write: No space left");
  expect_failure("printf 'a\\n\\377\\n' | residual translate --model @post-ln", 1,
                 "standard input:2: byte 1 of the line (0xff)");
  EXPECT_EQ(output("printf '\\377\\n' | residual translate --model @post-ln --replace-invalid"),
            output("printf '\\357\\277\\275\\n' | residual translate --model @post-ln"));
}

TEST_F(Translate, ModelsOfAnotherVersionOrWithMissingTensorsAreNamed) {
  output(
      "cp -r @post-ln @future && rm @future/checksums.txt && sed -i 's/^format = 1/format = 7/' "
      "@future/config.toml");
  expect_failure("residual translate --model @future < /dev/null", 1,
                 "has format 7, this version reads format 1");
  output(
      "cp -r @post-ln @deeper && rm @deeper/checksums.txt && sed -i 's/^decoder_layers = "
      "2/decoder_layers = 3/' "
      "@deeper/config.toml");
  expect_failure("residual translate --model @deeper < /dev/null", 1,
                 "has no tensor decoder.layers.2.self_attention.qkv.weight");
}

// A command with pipes on both sides.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments) {
    std::array<int, 2> in{}, out{};
    if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0) std::abort();
    ::alarm(60);  // a command that waits for the end of its input would wait for ever
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::close(in[1]);
      ::close(out[0]);
      std::vector<char*> raw;
      for (const auto& each : arguments) raw.push_back(const_cast<char*>(each.c_str()));
      raw.push_back(nullptr);
      ::execv((test::programs() + "/residual").c_str(), raw.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Child() {
    if (to_ >= 0) ::close(to_);
    ::close(from_);
    ::alarm(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void write(const std::string& text) {
    ASSERT_EQ(::write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string read_line() {
    std::string line;
    for (char c = 0; ::read(from_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  void interrupt() { ::kill(process_, SIGINT); }
  int wait() {
    ::close(std::exchange(to_, -1));
    int status = 0;
    ::waitpid(process_, &status, 0);
    return status;
  }

 private:
  pid_t process_;
  int to_, from_;
};

TEST_F(Translate, APipeThatStaysOpenIsAnsweredLineByLine) {
  Child child({"residual", "translate", "--model", path("post-ln")});
  for (const std::string line : {"a b c", "", "d e"}) {
    child.write(line + "\n");
    const std::string answer = child.read_line();
    EXPECT_EQ(answer.empty(), line.empty());
  }
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(Translate, AClosedPipeEndsItQuietly) {
  const auto result = run("yes 'a b c' | residual translate --model @post-ln | head -n 2");
  EXPECT_EQ(lines_of(result.output).size(), 2U);
  EXPECT_THAT(result.error, IsEmpty());
}

TEST_F(Translate, AnInterruptEndsItAndLeavesNoFile) {
  Child child({"residual", "translate", "--model", path("post-ln"), "-o", path("cut.txt")});
  child.write("a b c\n");
  while (run("ls -A @").output.find(".cut.txt.partial") == std::string::npos) ::usleep(10'000);
  child.interrupt();
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  EXPECT_FALSE(fs::exists(path("cut.txt")));
}

}  // namespace
}  // namespace residual
