// import-fairseq, info, verify and average as users meet them, on a model of the authors' code; and
// what import-marian wants.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/paths.h"
#include "support/shell.h"

namespace residual {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Lines of a script that leave a model in m.
const std::string kImport =
    "seq -f 'w%g 1' 4 39 > dict.de.txt; cp dict.de.txt dict.en.txt; "
    "residual import-fairseq '" +
    test::fixtures() +
    "/fairseq/resi-dual-eta-e2d2.safetensors' --source-dictionary dict.de.txt "
    "--target-dictionary dict.en.txt -o m > imported || exit 9; ";

TEST(ImportFairseq, SaysWhatItMade) {
  const auto result = test::run(kImport + "cat imported");
  EXPECT_EQ(result.output,
            "m: resi-dual model from de to en, 2 encoder and 2 decoder layers of width 16, 11,840 "
            "parameters\n");
}

TEST(ImportFairseq, WantsLanguagesThatTheDictionaryDoesNotName) {
  const auto result = test::run(kImport + "residual import-fairseq '" + test::fixtures() +
                                "/fairseq/post-ln-e2d2.safetensors' "
                                "--source-dictionary m/vocabulary.txt -o n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.error, HasSubstr("--source-language"));
}

TEST(ImportFairseq, WantsTheTargetLanguageOfAJoinedDictionary) {
  const std::string import =
      "residual import-fairseq '" + test::fixtures() +
      "/fairseq/resi-dual-eta-e2d2.safetensors' --source-dictionary dict.de.txt -o n";
  const auto missed = test::run(kImport + import);
  EXPECT_EQ(missed.exit_code, 2);
  EXPECT_THAT(missed.error, HasSubstr("--target-language"));
  const auto given = test::run(kImport + import + " --target-language en");
  EXPECT_EQ(given.exit_code, 0) << given.error;
  EXPECT_THAT(given.output, HasSubstr("from de to en"));
}

TEST(ImportFairseq, RefusesALanguageThatIsNoName) {
  const auto result =
      test::run(kImport + "residual import-fairseq '" + test::fixtures() +
                "/fairseq/resi-dual-eta-e2d2.safetensors' --source-dictionary dict.de.txt "
                "--target-dictionary dict.en.txt --source-language ../x -o n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("language \"../x\": expected letters"));
}

TEST(ImportFairseq, RefusesPositionsThatNoModelHas) {
  for (const std::string positions : {"1", "1048577", "99999999999"}) {
    const std::string import =
        "residual import-fairseq '" + test::fixtures() +
        "/fairseq/resi-dual-eta-e2d2.safetensors' --source-dictionary dict.de.txt "
        "--target-dictionary dict.en.txt -o n --max-positions ";
    const auto result = test::run(kImport + import + positions + "; code=$?; ls n; exit $code");
    EXPECT_EQ(result.exit_code, 2) << positions;
    EXPECT_THAT(result.error, HasSubstr("--max-positions"));
    EXPECT_EQ(result.output, "");
  }
}

TEST(ImportMarian, WantsOfAnArchiveWhatADirectoryBrings) {
  const std::string marian = "residual import-marian '" + test::fixtures() + "/marian/";
  const auto missed = test::run(marian + "tiny.npz' -o m");
  EXPECT_EQ(missed.exit_code, 2);
  EXPECT_THAT(missed.error, HasSubstr("--vocabulary is required"));
  for (const std::string option : {"--vocabulary", "--sentencepiece"}) {
    const auto given = test::run(marian + "opus-mt-en-art' -o m " + option + " x.spm");
    EXPECT_EQ(given.exit_code, 2);
    EXPECT_THAT(given.error, AllOf(HasSubstr(option), HasSubstr("contains its own")));
  }
  EXPECT_EQ(test::run(marian + "opus-mt-en-art' -o m").exit_code, 0);
}

TEST(Info, IsTheSameForPeopleAndPrograms) {
  const auto text = test::run(kImport + "residual info m");
  EXPECT_THAT(text.output, AllOf(HasSubstr("\n  eta: 0.05\n"), HasSubstr("\n  all: 11,840\n"),
                                 HasSubstr("\ndirections: de-en\n")));
  const auto json = nlohmann::json::parse(test::run(kImport + "residual info m --json").output);
  EXPECT_EQ(json["scheme"]["eta"], 0.05);
  EXPECT_EQ(json["parameters"]["all"], 11'840);
  EXPECT_EQ(json["parameters"]["embeddings"], 640);
  EXPECT_EQ(json["directions"][0], "de-en");
}

TEST(Verify, EndsWithOneAndListsEveryProblem) {
  EXPECT_EQ(test::run(kImport + "residual verify m").exit_code, 0);
  const auto result = test::run(kImport +
                                "truncate -s -4 m/model.safetensors; rm m/vocabulary.txt; "
                                "residual verify m");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("problem  m/model.safetensors: "),
                                   HasSubstr("problem  m/vocabulary.txt: ")));
  EXPECT_THAT(result.error, HasSubstr("2 problems found"));
}

TEST(Verify, GoesOnBehindWhatCannotBeRead) {
  const auto result = test::run(kImport + "residual verify nowhere m");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("problem  nowhere"), HasSubstr("ok       m/")));
  EXPECT_THAT(result.error, HasSubstr("1 problem found"));
  EXPECT_THAT(test::run(kImport + "residual info m nowhere").output, HasSubstr("type: model"));
}

TEST(Verify, SaysNoMoreThanItKnowsWithoutAConfiguration) {
  const auto result = test::run(kImport + "echo x > m/config.toml; residual verify m");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr(" tensors, all finite\n"));
}

TEST(Info, AndVerifyKnowWhatWasExportedToFairseq) {
  const std::string fairseq = kImport + "residual export -m m --to fairseq -o f > exported; ";
  EXPECT_THAT(test::run(fairseq + "residual info f").output,
              HasSubstr("type: model exported to fairseq\n"));
  const auto verified = test::run(fairseq + "residual verify f");
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  EXPECT_THAT(verified.output, AllOf(HasSubstr("all finite, under fairseq's names\n"),
                                     HasSubstr("f/dict.de.txt: 40 symbols\n")));
}

TEST(Average, OfAModelWithItselfIsTheModel) {
  const auto result = test::run(kImport +
                                "residual average m m -o mean; "
                                "cmp m/model.safetensors mean/model.safetensors");
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "mean: mean of m (update 0), m (update 0)\n");
}

TEST(Average, RefusesWhatDoesNotGoTogether) {
  const auto failure = [](const std::string& script) {
    const auto result = test::run(kImport + script);
    EXPECT_EQ(result.exit_code, 1) << script;
    return result.error;
  };
  EXPECT_THAT(failure("cp -r m n; tac m/vocabulary.txt > n/vocabulary.txt; rm n/checksums.txt; "
                      "residual average m n -o mean"),
              HasSubstr("m and n have different vocabularies"));
  EXPECT_THAT(failure("residual average m --last 2 -o mean"),
              HasSubstr("m: is a model directory; options that select checkpoints need a run"));
  EXPECT_THAT(failure("residual export -m m --precision packed -o p; residual average p -o mean"),
              HasSubstr("p: is packed for translation"));
}

TEST(Average, OfModelsWhoseNamesAreNotUtf8CanBeRead) {
  const auto result = test::run(kImport +
                                "n=$'m\\xff'; mv m $n; residual average $n -o mean > log && "
                                "residual info mean && residual info --json $n");
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("origin: mean of m\xEF\xBF\xBD (update 0)"));
}

TEST(Verify, NamesAFormatThatThisVersionDoesNotRead) {
  const auto result =
      test::run(kImport + "sed -i 's/^format = 1/format = 2/' m/config.toml; residual verify m");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("m/config.toml: has format 2"));
}

}  // namespace
}  // namespace residual
