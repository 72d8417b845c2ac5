// libresidual as programs meet it: residual.h and nothing else of the project.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <residual/residual.h>

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/paths.h"
#include "support/reverse_model.h"
#include "support/temporary.h"

namespace residual {
namespace {

using testing::HasSubstr;

struct Free {
  void operator()(residual_translator* t) const { residual_close(t); }
  void operator()(residual_translations* t) const { residual_free(t); }
};
using Translator = std::unique_ptr<residual_translator, Free>;
using Translations = std::unique_ptr<residual_translations, Free>;

class Api : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<test::TemporaryDirectory>();
    const auto made =
        test::run("cd '" + directory_->path().string() + "'\n" + test::make_reverse_model("model"));
    ASSERT_EQ(made.exit_code, 0) << made.error;
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static std::string model() { return (*directory_ / "model").string(); }
  static Translator open(const std::string& settings = "") {
    Translator translator(residual_open(model().c_str(), settings.c_str()));
    EXPECT_TRUE(translator) << residual_error();
    return translator;
  }
  static const std::vector<const char*>& lines() {
    static const std::vector<const char*> all = {"a b c", "",        "t s r q p o n m",
                                                 "d",     "zebra b", "a a a b b b c c c d d d"};
    return all;
  }
  static std::string input() {
    std::string text;
    for (const char* line : lines()) text += std::string(line) + "\n";
    return text;
  }
  // Every rank of every line, as `residual translate --n-best` prints them but for the sums.
  static std::string translated(residual_translator* translator) {
    const Translations found(residual_translate(translator, lines().data(), lines().size()));
    EXPECT_TRUE(found) << residual_error();
    std::string out;
    for (size_t i = 0; found && i < lines().size(); ++i) {
      for (size_t rank = 0; rank < residual_ranks(found.get(), i); ++rank) {
        out += std::string(residual_text(found.get(), i, rank)) + "\n";
      }
    }
    return out;
  }
  static std::string from_command(const std::string& options) {
    const auto result = test::run("printf '" + input() + "' | residual translate --model '" +
                                  model() + "' " + options);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.output;
  }
  static void expect_failure(const std::string& settings, const std::string& message) {
    EXPECT_EQ(residual_open(model().c_str(), settings.c_str()), nullptr) << settings;
    EXPECT_THAT(residual_error(), HasSubstr(message));
  }

 private:
  inline static std::unique_ptr<test::TemporaryDirectory> directory_;
};

TEST_F(Api, GivesTheBytesThatTheCommandPrints) {
  for (const auto& [settings, options] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"beam=1", "--beam 1"},
           {"beam=4 length_penalty=0.6 threads=3", "--beam 4 --length-penalty 0.6"},
           {"precision=int8 stop=bound", "--precision int8 --stop bound"},
           {"precision=fp16", "--precision fp16"},
           {"sentences=keep markup=text", "--sentences keep --markup text"},
           {"sampling.is_on=true sampling.seed=5 beam=2", "--sample --seed 5 --beam 2"}}) {
    EXPECT_EQ(translated(open(settings).get()), from_command(options)) << settings;
  }
  EXPECT_EQ(translated(open("beam=4 n_best=3").get()),
            test::run("sed 's/^[0-9]* ||| //; s/ ||| F0=.*//' <<'END'\n" +
                      from_command("--beam 4 --n-best 3") + "END")
                .output);
}

TEST_F(Api, SaysWhatMakesATranslationImplausible) {
  const auto translator = open("max_length_factor=0 max_length_offset=3");
  const std::array<const char*, 2> lines = {"a b c", "a b c d e f g h i j k l m n"};
  residual_translations* const found = residual_translate(translator.get(), lines.data(), 2);
  ASSERT_NE(found, nullptr) << residual_error();
  EXPECT_STREQ(residual_warning(found, 0, 0), "");
  EXPECT_STREQ(residual_warning(found, 1, 0), "short");
  EXPECT_EQ(residual_warning(found, 1, 9), nullptr);
  residual_free(found);
}

TEST_F(Api, IsCalledFromC) {
  const auto result =
      test::run("printf '" + input() + "' | api_from_c '" + model() + "' | cut -f 1");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.output, from_command(""));
}

TEST_F(Api, ScoresPairsAsTheCommandDoes) {
  const Translator translator = open();
  const std::vector<const char*> sources = {"a b c", "d e"}, targets = {"c b a", "d"};
  std::vector<double> sums(2);
  ASSERT_EQ(
      residual_log_probabilities(translator.get(), sources.data(), targets.data(), 2, sums.data()),
      0)
      << residual_error();
  const auto command = test::run(
      "printf 'a b c\\nd e\\n' > s; printf 'c b a\\nd\\n' > t; residual score-pairs --model '" +
      model() + "' s t");
  std::istringstream scores(command.output);
  for (const double sum : sums) {
    double expected = 0, mean = 0;
    ASSERT_TRUE(scores >> expected >> mean) << command.output << command.error;
    EXPECT_NEAR(sum, expected, 1e-4);
  }
}

TEST_F(Api, SaysWhatIsWrongWithAModelOrASetting) {
  EXPECT_EQ(residual_open("/nonexistent", ""), nullptr);
  EXPECT_THAT(residual_error(), HasSubstr("/nonexistent"));
  expect_failure("baem=4", "unknown key \"baem\"; did you mean \"beam\"?");
  expect_failure("beam=many", "beam");
  expect_failure("beam=0", "beam");
  expect_failure("beam", "settings: beam: expected key=value");
  expect_failure("beam=05", "settings: beam=05: beam: expected an integer, got \"05\"");
  expect_failure("length_penalty=.5", "length_penalty: expected a number, got \".5\"");
  expect_failure("beam=2 n_best=3", "a beam of 2 gives from 1 to 2 translations");
  expect_failure("precision=fp64", "fp64");
  expect_failure("source=o'x", "o'x");
  expect_failure("with_attention=true", "with_attention");
  expect_failure("attention_layer=1", "attention_layer");
}

TEST_F(Api, RefusesLinesThatAreNoLines) {
  const Translator translator = open();
  const auto expect_refused = [&](const std::vector<const char*>& given, const char* message) {
    EXPECT_EQ(residual_translate(translator.get(), given.data(), given.size()), nullptr);
    EXPECT_THAT(residual_error(), HasSubstr(message));
  };
  expect_refused({"a", nullptr}, "lines[1] is a null pointer");
  expect_refused({"a\nb"}, "lines[0] contains a line break");
  expect_refused({"a", "b", "\xff"}, "lines[2]: byte 1 is not valid UTF-8");
  EXPECT_EQ(residual_translate(translator.get(), nullptr, 1), nullptr);
  EXPECT_THAT(residual_error(), HasSubstr("lines is a null pointer"));
  EXPECT_TRUE(Translations(residual_translate(translator.get(), nullptr, 0)));
  EXPECT_STREQ(residual_error(), "");
}

TEST_F(Api, KeepsErrorsOfThreadsApart) {
  EXPECT_EQ(residual_open(nullptr, nullptr), nullptr);
  std::thread([] { EXPECT_STREQ(residual_error(), ""); }).join();
  EXPECT_STREQ(residual_error(), "model is a null pointer");
}

TEST_F(Api, SharesATranslatorAmongThreads) {
  const Translator translator = open("threads=2");
  const std::string once = translated(translator.get());
  std::vector<std::string> found(6);
  std::vector<std::thread> threads;
  for (auto& each : found) {
    threads.emplace_back([&] { each = translated(translator.get()); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(found, testing::Each(once));
}

TEST(Library, ExportsItsFunctionsAndNothingElse) {
  const auto symbols =
      test::run("nm -D --defined-only '" + test::shared_library() + "' | cut -d ' ' -f 3");
  ASSERT_EQ(symbols.exit_code, 0) << symbols.error;
  std::istringstream names(symbols.output);
  int functions = 0;
  for (std::string name; names >> name;) {
    if (name == "RESIDUAL_0") continue;  // the version they carry
    EXPECT_THAT(name, testing::MatchesRegex("residual_[a-z_]*@@RESIDUAL_0"));
    ++functions;
  }
  EXPECT_EQ(functions, 12);
}

}  // namespace
}  // namespace residual
