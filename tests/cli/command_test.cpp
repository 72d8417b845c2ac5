// The `residual` binary as its users meet it: help, exit codes, pipes, start-up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/shell.h"
#include "support/temporary.h"

namespace residual {
namespace {

using test::run;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The words in the first column of the "Commands:" section of a help text.
std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> commands;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Commands:") {
      inside = true;
    } else if (line.empty()) {
      inside = false;
    } else if (inside && line.size() > 2 && line[2] != ' ') {
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return commands;
}

// All command paths: "tokenize", "bpe learn", ...
std::vector<std::string> all_commands(const std::string& path = "") {
  std::vector<std::string> found;
  for (const auto& name : commands_in(run("residual " + path + "--help").output)) {
    found.push_back(path + name);
    for (const auto& below : all_commands(path + name + " ")) found.push_back(below);
  }
  return found;
}

TEST(Help, OfEveryCommandHasUsageOptionsAndExamples) {
  const auto commands = all_commands();
  EXPECT_THAT(commands, testing::IsSupersetOf({"tokenize", "detokenize", "normalize", "bpe learn",
                                               "fetch", "prepare", "score", "completions"}));
  for (const auto& command : commands) {
    SCOPED_TRACE(command);
    const auto result = run("residual " + command + " --help");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.output, HasSubstr("Usage: residual " + command));
    EXPECT_THAT(result.output, HasSubstr("--threads N"));
    const bool is_group = !commands_in(result.output).empty();
    EXPECT_TRUE(is_group || result.output.find("Examples:\n  ") != std::string::npos);
    EXPECT_THAT(result.error, IsEmpty());
  }
}

TEST(Help, ShowsSeveralValuesOnlyWhereAnOptionTakesThem) {
  EXPECT_THAT(run("residual sentencepiece train --help").output,
              AllOf(HasSubstr("--user-symbols SYMBOL "), HasSubstr("repeatable")));
  EXPECT_THAT(run("residual bpe apply --help").output, HasSubstr("--glossaries TEXT..."));
}

TEST(Version, NamesCommitCompilerCpuAndLibraries) {
  const auto result = run("residual --version");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part : {"residual 0.", "compiler: ", "cpu features: ", "ICU ", "fmt "}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
}

TEST(Help, OfACommandIsFoundEitherWay) {
  const auto help = run("residual help bpe learn");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.output, run("residual bpe learn --help").output);
  EXPECT_EQ(run("residual help").output, run("residual --help").output);
}

TEST(ExitCode, IsTwoForWrongUsageWithASuggestionOnStandardError) {
  for (const auto& [line, message] : std::vector<std::pair<std::string, std::string>>{
           {"residual", "Usage: residual COMMAND"},
           {"residual tranlsate --model m",
            "unknown command \"tranlsate\"; did you mean \"translate\"?"},
           {"residual --modle m", "unknown option \"--modle\""},
           {"residual translate --modle m t", "did you mean \"--model\"?"},
           {"residual help tranlsate", "unknown command \"tranlsate\""},
           {"residual tranlsate --help", "unknown command \"tranlsate\""},
           {"residual vocabulary build --threshold -1", "not negative"},
           {"residual bpe apply --codes c --dropout nan", "--dropout"},
           {"residual fetch generated --mirror http://x -o d",
            "--mirror has no effect on generated"},
           {"residual fetch debian --package git -o d", "--package is for debian --collection"},
           {"SACREBLEU_SEED=x residual score --ref r h", "SACREBLEU_SEED: expected a whole"},
           {"residual tokenise", "unknown command \"tokenise\"; did you mean \"tokenize\"?"},
           {"residual tokenize --agressive", "did you mean \"--aggressive\"?"},
           {"residual bpe", "a command is required: learn, "},
           {"residual bpe lern", "unknown command \"lern\"; did you mean \"learn\"?"},
           {"residual bpe apply", "--codes is required"},
           {"residual score", "HYP is required: "},
           {"residual score --reference r h", "did you mean \"--ref\"?"},
           {"residual translate --model m --beam 0", "--beam: must be at least 1, is 0"},
           {"residual translate --model m --beam 2 --beam 3", "--beam: given more than once"},
           {"residual translate --model m --sample --seed 9223372036854775808",
            "--seed: expected a number below 2^63, got \"9223372036854775808\""},
           {"touch t; residual probe -o d --translation t", "--translation requires --text"},
           {"residual probe -o d --from en", "--from requires --text"},
           {"residual probe -o d --set model.wdth=8", "unknown key \"model.wdth\""},
           {"touch r.toml; residual train r.toml --replay d", "RECIPE excludes --replay"},
           {"residual train --replay d --set train.seed=2", "--set excludes --replay"},
           {"residual train --resume --check", "--output RUN is required"},
           {"residual train --resume", "--output RUN is required"},
           {"residual train", "RECIPE is required: recipe, a TOML file"},
           {"mkdir 'a run'; touch 'a run/config.toml'; residual train --resume 'a run'",
            "a run is a run, not a recipe; continue it with residual train --resume -o 'a run'"},
           {"residual score --ref - -", "standard input (-) is given twice"},
           {"residual sentencepiece train --character-coverage nan -o m",
            "--character-coverage: expected a number from 0.98 to 1, got \"nan\""},
           {"residual probe -o d --seed 9223372036854775808", "--seed: expected a number below"},
           {"residual train r.toml --probe every=9223372036854775808", "--probe: expected every=N"},
           {"residual fetch debain -o d", "unknown source \"debain\"; did you mean \"debian\"?"},
           {"residual schemes nope", "unknown residual scheme \"nope\""},
           {"residual score --ref r h -m chrf --chrf-char-order 0", "chrF"},
           {"residual train --check --set batch.sed=3", "unknown key \"batch.sed\""},
           {"residual train --check --set train.seed=9223372036854775808",
            "train.seed: expected an integer, got \"9223372036854775808\""},
           {"touch p.toml; residual study p.toml --set jobs=x", "jobs: expected an integer"},
           {"residual prepare -o d --set clean.max_ratio=x", "expected a number, got \"x\""},
           {"residual bpe learn --merges 1e3",
            "--merges: expected a whole number from 0 to 1000000000, got \"1e3\""},
           {"residual score --ref r h --width 1.5",
            "--width: expected a whole number from 0 to 15, got \"1.5\""},
           {"residual vocabulary build --max-words 1e3",
            "--max-words: expected a whole number, got \"1e3\""},
           {"residual vocabulary build --max-words x", "--max-words: expected a number, got \"x\""},
           {"residual completions tcsh", "tcsh not in {bash,zsh,fish}"}}) {
    SCOPED_TRACE(line);
    const auto result = run(line + " < /dev/null");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.error, HasSubstr(message));
    EXPECT_THAT(result.output, IsEmpty());
  }
}

TEST(Prepare, WarnsOfALanguageWithoutAbbreviations) {
  const auto result =
      run("echo 'a b' > t.xx; echo 'c d' > t.de\n"
          "residual prepare --source-lang xx --target-lang de --train t -o out");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.error, HasSubstr("unknown language \"xx\", using English abbreviations"));
}

TEST(Train, OfARunThatIsResumedExplainsItsOwnConfiguration) {
  const auto result = run(
      "mkdir run; echo 'train.max_updates = 7' > run/config.toml\n"
      "residual train --resume -o run --set model.width=64 --explain | grep -E '^max_u|^width'");
  EXPECT_EQ(result.output, "width = 64\nmax_updates = 7\n") << result.error;
}

TEST(Train, SaysWhatItDoesNotCheckOrFind) {
  const std::string prepare =
      "for i in $(seq 40); do echo \"a b $i\"; done | tee t.en > t.de\n"
      "residual -q prepare --source-lang en --target-lang de --train t --set split.dev_every=4 "
      "-o prepared > table\n";
  const auto device =
      run(prepare + "residual train --data prepared --device cuda --check | grep device");
  EXPECT_EQ(device.output, "device:  cuda, not checked until training starts\n") << device.error;
  const auto elsewhere =
      run("mkdir run; echo 'data.prepared = \"no/such\"' > run/config.toml\n"
          "residual train --resume -o run --check");
  EXPECT_EQ(elsewhere.exit_code, 1);
  EXPECT_THAT(elsewhere.error,
              HasSubstr("no/such: no such directory; the run names its corpus by a relative path"));
  EXPECT_THAT(elsewhere.error, HasSubstr("--data DIR"));
}

TEST(Train, CheckAsksForTheTextThatBleuNeeds) {
  const auto result =
      run("for i in $(seq 40); do echo \"a b $i\"; done | tee t.en > t.de\n"
          "residual -q prepare --source-lang en --target-lang de --train t --set split.dev_every=4 "
          "-o prepared > table; rm prepared/dev.de.txt\n"
          "echo 'data.prepared = \"prepared\"' > r.toml; residual train r.toml --check > sizes && "
          "residual train r.toml --set validate.metric=bleu --check");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("prepared: has no raw text of dev"));
}

TEST(ExitCode, IsOneForFailureWithItsReasonOnStandardError) {
  for (const auto& [line, message] : std::vector<std::pair<std::string, std::string>>{
           {"residual tokenize /nonexistent",
            "/nonexistent: cannot open: No such file or directory"},
           {"touch quickstart.toml; residual train quikstart.toml",
            "quikstart.toml: no such recipe; did you mean \"quickstart.toml\"?"},
           {"residual study nothing.toml", "nothing.toml: no such recipe; ResiDual's own are in"},
           {"residual tokenize /", "/: is a directory, not a text file"},
           {"printf 'a\\n\\377\\n' | residual tokenize",
            "standard input:2: byte 1 of the line (0xff)"},
           {"echo a | residual tokenize > /dev/full",
            "standard output: cannot write: No space left"},
           {"echo 'data.prepared = \"p\"' > r.toml; residual prepare r.toml -o out",
            "r.toml: is a recipe for `residual train`, not for `residual prepare`"},
           {"echo 'data = \"d\"' > r.toml; residual train r.toml --check",
            "r.toml: is a recipe for `residual prepare`, not for `residual train`"},
           {"ulimit -f 1; seq 10000 | residual tokenize -o out", "cannot write: File too large"},
           {"ulimit -f 1; seq 10000 | residual tokenize > out", "cannot write: File too large"},
           {"echo 'data = \"data/iwslt14\"' > r.toml\n"
            "residual prepare r.toml --source-lang en --target-lang de -o out",
            "data/iwslt14: does not exist; download it with `residual fetch iwslt14 --pair en-de "
            "--output data/iwslt14`"},
           {"echo a | residual tokenize >&-", "standard output: cannot write: Bad file descriptor"},
           {"residual tokenize <&-", "standard input: cannot"},
           {"touch f; residual fetch generated -o f", "f: already exists; give another directory"},
           {"mkdir p; touch p/train.corpus; residual corpus show p",
            "p: is a directory; give one of its corpora: p/train.corpus"},
           {"echo ' ' | residual sentencepiece train -o m", "no line to learn from"},
           {"residual --version > /dev/full", "cannot write"},
           {"residual completions bash > /dev/full", "cannot write"}}) {
    SCOPED_TRACE(line);
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.error, HasSubstr("residual: error: "));
    EXPECT_THAT(result.error, HasSubstr(message));
  }
}

TEST(StandardError, ThatIsClosedLeavesFilesAlone) {
  const auto result = run("echo 'a b' > text; residual bpe learn text -o codes 2>&- && cat codes");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "#version: 0.2\n");
}

TEST(EndOfOptions, MakesOperandsOfAllThatFollows) {
  const std::string files = "echo a > x; echo a > -y; echo a > --; ";
  for (const char* line : {"vocabulary build x -- -y --", "vocabulary build -q -- x -y --",
                           "vocabulary build x -q -o - -- -y --"}) {
    EXPECT_EQ(run(files + "residual -q " + line + " | head -n 1").output, "a 3\n") << line;
  }
  EXPECT_EQ(run(files + "residual score -r x x -b -- -y").exit_code, 0);
  EXPECT_EQ(run(files + "residual score -r x -m bleu chrf -- -y").exit_code, 0);
  EXPECT_EQ(run("echo 'a-- b' | residual bpe undo --separator --").output, "ab\n");
}

TEST(BpeApply, WarnsOfAVocabularyWithoutAPiece) {
  const std::string files = "echo '#version: 0.2' > codes; echo 'a 1' > one; touch none; ";
  const std::string apply = "echo ab | residual bpe apply -c codes --vocabulary ";
  EXPECT_THAT(run(files + apply + "none").error,
              HasSubstr("none: no piece reaches the count threshold"));
  EXPECT_THAT(run(files + apply + "one --vocabulary-threshold 2").error, HasSubstr("warn"));
  EXPECT_THAT(run(files + apply + "one").error, Not(HasSubstr("warn")));
}

TEST(Pipe, ThatStaysOpenIsAnsweredLineByLine) {
  std::array<int, 2> in{}, out{};
  ASSERT_EQ(::pipe(in.data()), 0);
  ASSERT_EQ(::pipe(out.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::close(in[1]);
    ::close(out[0]);
    ::execl((test::programs() + "/residual").c_str(), "residual", "tokenize", nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  ::alarm(20);  // a command that waits for the end of its input would wait for ever
  for (const std::string line : {"one, two", "three."}) {
    const std::string sent = line + "\n";
    ASSERT_EQ(::write(in[1], sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
    std::array<char, 100> answer{};
    ASSERT_GT(::read(out[0], answer.data(), answer.size()), 0);
    EXPECT_EQ(answer[0], line[0]);
  }
  ::close(in[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::alarm(0);
  EXPECT_EQ(status, 0);
  ::close(out[0]);
}

TEST(Pipe, ThatIsClosedEndsTheCommandQuietly) {
  const auto result = run("yes 'a line, of text.' | residual tokenize | head -n 2");
  EXPECT_EQ(result.output, "a line , of text .\na line , of text .\n");
  EXPECT_THAT(result.error, IsEmpty());
}

TEST(Threads, GiveTheSameBytesWhateverTheirNumber) {
  const test::TemporaryDirectory directory;
  run("seq 1 200000 | sed 's/$/ words, and \"more\" of them./' > " + (directory / "in").string());
  const std::string one =
      run("residual --threads 1 tokenize < " + (directory / "in").string() + " | md5sum").output;
  const std::string five =
      run("residual tokenize --threads 5 < " + (directory / "in").string() + " | md5sum").output;
  EXPECT_EQ(one, five);
}

TEST(Completions, AreScriptsThatTheShellAcceptsAndThatKnowEveryCommand) {
  const auto script = run("residual completions bash");
  for (const auto& command : all_commands()) EXPECT_THAT(script.output, HasSubstr(command));
  // What bash itself would offer after "residual tok" and "residual bpe l".
  const auto offered =
      run("residual completions bash > $$.sh; . ./$$.sh; rm $$.sh; "
          "COMP_WORDS=(residual tok); COMP_CWORD=1; _residual; echo ${COMPREPLY[0]}; "
          "COMP_WORDS=(residual bpe l); COMP_CWORD=2; _residual; echo ${COMPREPLY[0]}; "
          "COMP_WORDS=(residual tokenize --agg); COMP_CWORD=2; _residual; echo ${COMPREPLY[0]}");
  EXPECT_EQ(offered.output, "tokenize\nlearn\n--aggressive\n");
  for (const char* shell : {"zsh", "fish"}) {
    EXPECT_EQ(run(std::string("residual completions ") + shell).exit_code, 0);
    const std::string check = std::string("command -v ") + shell +
                              " > /dev/null || exit 0; residual completions " + shell +
                              " > $$.s; " + shell + " -n $$.s; code=$?; rm $$.s; exit $code";
    EXPECT_EQ(run(check).exit_code, 0) << shell;
  }
}

// The best of several: the machine may be busy, the program must not be.
// Milliseconds of processor time, which a busy machine does not lengthen as it does the clock's.
double time_of_children() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto milliseconds = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
}

TEST(StartUp, TakesLessThanThirtyMilliseconds) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double before = time_of_children();
    ASSERT_EQ(std::system(("'" + test::programs() + "/residual' --version > /dev/null").c_str()),
              0);
    best = std::min(best, time_of_children() - before);
  }
  RecordProperty("milliseconds", std::to_string(best));
  EXPECT_LT(best, 30);
}

}  // namespace
}  // namespace residual
