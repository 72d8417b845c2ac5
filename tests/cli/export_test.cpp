// residual export: other forms of a model translate as it does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "base/random.h"
#include "cli/models.h"

namespace residual {
namespace {

using testing::HasSubstr;

class Export : public test::ModelCommands {
 protected:
  static std::string translations(const std::string& options) {
    return output(
        "printf 'a b c d e\\nf g h\\n\\ni j k l m n o p q r s t\\n' | residual translate "
        "--n-best 3 --model " +
        options);
  }
};

TEST_F(Export, Int8IsWhatLoadingAsInt8Gives) {
  for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
    output("residual export --model @" + scheme + " --precision int8 -o @int8-" + scheme);
    const std::string expected = translations("@" + scheme + " --precision int8");
    EXPECT_EQ(translations("@int8-" + scheme), expected);
    EXPECT_EQ(translations("@int8-" + scheme + " --precision int8"), expected);
  }
  EXPECT_LT(fs::file_size(path("int8-post-ln/model.safetensors")),
            fs::file_size(path("post-ln/model.safetensors")) / 2);
  // Again, from int8: nothing changes.
  output("residual export --model @int8-post-ln --precision int8 -o @twice");
  EXPECT_EQ(output("cmp @int8-post-ln/model.safetensors @twice/model.safetensors"), "");
}

TEST_F(Export, LeavesTheModelsOfARunAlone) {
  output(
      "mkdir -p @run/checkpoints; cp -r @post-ln @run/best; touch @run/config.toml; "
      "touch @run/metrics.jsonl @run/checkpoints/1.safetensors");
  const auto result = run("residual export --model @post-ln --precision int8 --force -o @run/best");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("belongs to the run"));
}

TEST_F(Export, Float16IsWhatLoadingAsFloat16Gives) {
  for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
    output("residual export --model @" + scheme + " --precision fp16 -o @half-" + scheme);
    const std::string expected = translations("@" + scheme + " --precision fp16");
    EXPECT_NE(expected, translations("@" + scheme));  // the scores
    EXPECT_EQ(translations("@half-" + scheme), expected);
    EXPECT_EQ(translations("@half-" + scheme + " --precision fp16"), expected);
    output("residual export --model @half-" + scheme + " --precision packed -o @panels-" + scheme);
    for (const std::string precision : {"fp32", "fp16"}) {
      EXPECT_EQ(translations("@panels-" + scheme + " --precision " + precision), expected);
    }
    EXPECT_EQ(translations("@half-" + scheme + " --precision int8"),
              translations("@panels-" + scheme + " --precision int8"));
    // Widened to float32, by way of fairseq's form.
    if (scheme != "resi-dual") continue;
    output("residual export --model @half-resi-dual --to fairseq -o @fairseq-half");
    output(
        "cd @fairseq-half && residual import-fairseq model.safetensors --source-dictionary "
        "dict.ab.txt --target-dictionary dict.ba.txt --tokenizer none -o @wide");
    EXPECT_EQ(translations("@wide"), expected);
  }
  EXPECT_LT(fs::file_size(path("half-post-ln/model.safetensors")),
            fs::file_size(path("post-ln/model.safetensors")) * 3 / 4);
  output("residual export --model @half-post-ln --precision fp16 -o @half-again");
  EXPECT_EQ(output("cmp @half-post-ln/model.safetensors @half-again/model.safetensors"), "");
  EXPECT_THAT(output("residual info @half-post-ln"), HasSubstr("F16"));
  output("residual export --model @pre-ln --precision int8 -o @eighth");
  expect_failure("residual export --model @eighth --precision fp16 -o @x", 1,
                 "is int8; export the model it was made from");
}

TEST_F(Export, PackedTranslatesAsWhatItWasMadeFrom) {
  for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
    output("residual export --model @" + scheme + " --precision packed -o @packed-" + scheme);
    EXPECT_EQ(translations("@packed-" + scheme), translations("@" + scheme));
    EXPECT_EQ(translations("@packed-" + scheme + " --precision int8"),
              translations("@" + scheme + " --precision int8"));
  }
  output("residual export --model @packed-post-ln --to bundle -o @packed.safetensors");
  EXPECT_EQ(translations("@packed.safetensors"), translations("@post-ln"));
  expect_failure("residual export --model @packed-post-ln --to ctranslate2 -o @x", 1,
                 "is packed for translation; use the model it was made from");
  output("residual export --model @post-ln --precision int8 -o @of-int8");
  expect_failure("residual export --model @of-int8 --precision packed -o @x", 1,
                 "only float32 and float16 matrices are packed");
}

TEST_F(Export, ABundleIsTheWholeModelInOneFile) {
  output("residual export --model @resi-dual --to bundle -o @one.safetensors");
  EXPECT_EQ(translations("@one.safetensors"), translations("@resi-dual"));
  output("residual export --model @resi-dual --to bundle --precision int8 -o @int8.safetensors");
  EXPECT_EQ(translations("@int8.safetensors"), translations("@resi-dual --precision int8"));
  // And back into a directory, byte for byte.
  output("residual export --model @one.safetensors -o @unpacked");
  EXPECT_EQ(output("diff -r @resi-dual @unpacked"), "");
}

TEST_F(Export, ABundleGivesItsPiecesAndIdsToText) {
  output("residual export --model @resi-dual --to bundle -o @like.safetensors");
  output("cd @ && printf 'a b c\nd e\n' > text.ab && printf 'c b a\ne d\n' > text.ba");
  for (const std::string like : {"resi-dual", "like.safetensors"}) {
    output("cd @ && residual -q prepare --source-lang ab --target-lang ba --train text --like " +
           like + " -o prepared-" + like);
  }
  for (const std::string file : {"vocabulary.txt", "segmentation.ab.toml", "train.corpus"}) {
    EXPECT_EQ(output("cmp @prepared-resi-dual/" + file + " @prepared-like.safetensors/" + file),
              "");
  }
}

TEST_F(Export, FairseqsNamesComeBackThroughImport) {
  for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
    output("residual export --model @" + scheme + " --to fairseq -o @fairseq-" + scheme);
    output("cd @fairseq-" + scheme + " && residual import-fairseq model.safetensors " +
           "--source-dictionary dict.ab.txt --target-dictionary dict.ba.txt --tokenizer none " +
           "-o @again-" + scheme);
    EXPECT_EQ(
        output("cmp @" + scheme + "/model.safetensors @again-" + scheme + "/model.safetensors"),
        "");
    EXPECT_EQ(translations("@again-" + scheme), translations("@" + scheme));
  }
}

// The reverse model, from ab to ba and to cd, each with a letter as its tag.
TEST_F(Export, TagsAreSaidAndComeBackThroughImport) {
  for (const std::string scheme : {"post-ln", "resi-dual"}) {
    output("cp -r @" + scheme + " @tagged-" + scheme + " && cd @tagged-" + scheme +
           " && rm checksums.txt && sed 's/\"ba\"/\"cd\"/' segmentation.ba.toml > "
           "segmentation.cd.toml && "
           "sed -i 's/source_tag = \"\"/source_tag = \"t\"/' config.toml && "
           "printf '\\n[[directions]]\\nsource = \"ab\"\\ntarget = \"cd\"\\n"
           "source_tag = \"s\"\\n' >> config.toml");
  }
  const std::string warning =
      "sources must begin with a tag, which only ResiDual adds "
      "automatically: t from ab to ba, s from ab to cd";
  EXPECT_THAT(run("residual export --model @tagged-post-ln --to ctranslate2 -o @tagged-ct2").error,
              HasSubstr(warning));
  EXPECT_THAT(run("residual export --model @tagged-resi-dual --to fairseq -o @tagged").error,
              HasSubstr(warning));
  const std::string import =
      "cd @tagged && residual import-fairseq model.safetensors --source-dictionary dict.ab.txt "
      "--tokenizer none -o @tagged-again --target-language ";
  expect_failure(import + "xx", 1, "model.safetensors: translates ab-ba, ab-cd, not ab to xx");
  output(import + "cd");
  EXPECT_THAT(output("residual info @tagged-again"),
              testing::AllOf(HasSubstr("ab-ba with t"), HasSubstr("ab-cd with s")));
  for (const std::string to : {" --to ba", " --to cd"}) {
    EXPECT_EQ(translations("@tagged-again" + to), translations("@tagged-resi-dual" + to));
  }
  EXPECT_NE(translations("@tagged-again --to ba"), translations("@tagged-again --to cd"));
}

TEST_F(Export, SaysWhichFormsAModelCannotHave) {
  expect_failure("residual export --model @resi-dual --to ctranslate2 -o @x", 1,
                 "is a resi-dual model; CTranslate2 runs post-ln and pre-ln");
  output("residual export --model @post-ln --precision int8 -o @rounded");
  for (const std::string form : {"fairseq", "ctranslate2"}) {
    expect_failure("residual export --model @rounded --to " + form + " -o @x", 1,
                   "is int8; export the model it was made from");
    expect_failure("residual export --model @post-ln --precision int8 --to " + form + " -o @x", 1,
                   "--precision fp16, int8 and packed are only for ResiDual's own formats");
  }
  expect_failure("residual export --model /nonexistent -o @x", 1, "/nonexistent");
  expect_failure("residual export --model @post-ln -o /proc/x", 1, "/proc");
  expect_failure("residual export --model @post-ln", 2, "--output is required");
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(Export, AnEarlierResultIsReplacedByForceOnly) {
  for (const std::string form : {"model", "bundle", "fairseq"}) {
    const std::string command = "residual export --model @post-ln --to " + form + " -o @" + form;
    output(command);
    expect_failure(command, 1, form + ": already exists; give another path, or --force");
    output(command + " --force");
  }
  output("residual average @post-ln @post-ln -o @mean");
  expect_failure("residual average @post-ln @post-ln -o @mean", 1, "mean: already exists");
}

TEST_F(Export, ADirectoryThatIsNoModelIsNotReplaced) {
  output("mkdir @mine && echo precious > @mine/file");
  expect_failure("residual export --model @post-ln -o @mine", 1, "mine: already exists");
  expect_failure("residual export --model @post-ln -o @mine --force", 1,
                 "file in it is not an earlier result");
  EXPECT_EQ(output("cat @mine/file"), "precious\n");
  expect_failure("residual export --model @post-ln --to bundle -o @mine/file --force", 1,
                 "is not an earlier result");
  EXPECT_EQ(output("cat @mine/file"), "precious\n");
}

TEST_F(Export, NothingOfOthersIsReplacedWithAModel) {
  const std::string again = "residual export --model @post-ln -o @out --force";
  output("residual export --model @post-ln -o @out");
  output("mkdir @out/eval");
  expect_failure(again, 1, "eval in it is not an earlier result");
  output("rmdir @out/eval && echo mine > @out/README.md");
  expect_failure(again, 1, "README.md in it is not an earlier result");
  output("rm @out/README.md");
  output(again);
  // As other programs' models are called.
  output("mkdir @other && echo weights > @other/model.safetensors && echo {} > @other/config.json");
  expect_failure("residual export --model @post-ln -o @other --force", 1,
                 "model.safetensors in it is not an earlier result");
  expect_failure("residual export --model @post-ln --to bundle -o @other/model.safetensors --force",
                 1, "is not an earlier result");
  for (const char* form : {"fairseq", "ctranslate2"}) {
    const std::string command =
        std::string("residual export --model @post-ln --force -o @f --to ") + form;
    output(command);
    output(command);
    output("echo mine > @f/notes");
    expect_failure(command, 1, "notes in it is not an earlier result");
    output("rm -r @f");
  }
}

TEST_F(Export, ABundleIsKnownByItsContent) {
  output("residual export --model @post-ln --to bundle -o @bundle.bin");
  output("residual verify @bundle.bin");
  EXPECT_THAT(output("residual info @bundle.bin"), HasSubstr("type: model bundle"));
  output("residual average @bundle.bin @post-ln -o @of-bundle");
  EXPECT_EQ(output("cmp @of-bundle/model.safetensors @post-ln/model.safetensors"), "");
  EXPECT_EQ(output("echo a b c | residual translate --average --model @bundle.bin"),
            output("echo a b c | residual translate --model @post-ln"));
}

TEST_F(Export, OtherSafetensorsFilesAreNoBundles) {
  expect_failure("residual translate --model @post-ln/model.safetensors < /dev/null", 1,
                 "is not a model in one file");
  expect_failure("residual export --model @post-ln/model.safetensors -o @x", 1,
                 "`residual average CHECKPOINT -o DIR` makes a model from a checkpoint");
  expect_failure("echo no > f; residual translate --model f < /dev/null", 1, "f: ");
}

// Every damage is an error with a message: no crash, no translation from wrong weights' shapes.
TEST_F(Export, DamagedBundlesFailCleanly) {
  output("residual export --model @post-ln --to bundle -o @whole");
  const std::string whole = read_file(path("whole"));
  const size_t header = 8 + static_cast<size_t>(static_cast<unsigned char>(whole[0]) +
                                                256 * static_cast<unsigned char>(whole[1]));
  const size_t texts = whole.find("directions");  // config.toml
  const Random random(1, 2);
  for (uint64_t i = 0; i < 60; ++i) {
    std::string damaged = whole;
    if (i % 3 == 0) {
      damaged.resize(random.below(3 * i, whole.size()));
    } else {
      const size_t begin = i % 3 == 1 ? 0 : texts - 300;
      const size_t end = i % 3 == 1 ? header : texts + 300;
      damaged[begin + random.below(3 * i, end - begin)] =
          static_cast<char>(random.below(3 * i + 1, 256));
    }
    std::ofstream(path("damaged")) << damaged;
    const auto result = run("echo a b c | residual translate --model @damaged");
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 1) << i << " " << result.error;
    if (result.exit_code == 1) {
      EXPECT_THAT(result.error, HasSubstr("residual: error: "));
    }
  }
}

}  // namespace
}  // namespace residual
