#include "interop/marian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "interop/export.h"
#include "interop/fairseq.h"
#include "interop/flat_yaml.h"
#include "interop/npz.h"
#include "model/parameters.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace residual::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const fs::path kData = fs::path(test::fixtures()) / "marian";

using residual::test::error_of;

TEST(FlatYaml, HasScalarsAndLists) {
  EXPECT_THAT(
      parse_flat_yaml("a: 1\n"
                      "# a comment\n"
                      "\"b \\\"c\\\" \\u00e9\\x41\": 'it''s'\n"
                      "list:\n  - x\n  - \"y: z\"\nnone:\n  []\nurl: http://x\n"
                      "\":\": 5\n"
                      "no-blank:3: 4\r\n",
                      "file"),
      UnorderedElementsAre(Pair("a", ElementsAre("1")), Pair("b \"c\" éA", ElementsAre("it's")),
                           Pair("list", ElementsAre("x", "y: z")), Pair("none", IsEmpty()),
                           Pair("url", ElementsAre("http://x")), Pair(":", ElementsAre("5")),
                           Pair("no-blank:3", ElementsAre("4"))));
}

TEST(FlatYaml, ReadsWhatPythonWrites) {
  EXPECT_THAT(parse_flat_yaml("\xEF\xBB\xBF? \"a\\N\\_\\L\\P\"\n: 7\n? 'b'\n: 8\n"
                              "empty: []\nnothing: ~\nnull: null\n",
                              "file"),
              UnorderedElementsAre(Pair("a\u0085\u00a0\u2028\u2029", ElementsAre("7")),
                                   Pair("b", ElementsAre("8")), Pair("empty", IsEmpty()),
                                   Pair("nothing", IsEmpty()), Pair("null", IsEmpty())));
}

TEST(FlatYaml, TheFirstOfTwoMayCount) {
  EXPECT_THAT(parse_flat_yaml("a: 1\na: 2\n", "file", Twice::first),
              ElementsAre(Pair("a", ElementsAre("1"))));
}

TEST(FlatYaml, NamesTheLineThatIsWrong) {
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_flat_yaml(text, "v.yml"); });
  };
  EXPECT_THAT(error("a: 1\nb\n"), HasSubstr("v.yml, line 2: expected \"key: value\", got \"b\""));
  EXPECT_THAT(error("a: 1\na: 2\n"), HasSubstr("v.yml, line 2: a appears twice"));
  EXPECT_THAT(error("\"a: 1"), HasSubstr("line 1: unterminated quoted string"));
  EXPECT_THAT(error("'a: 1"), HasSubstr("line 1: unterminated quoted string"));
  EXPECT_THAT(error("\"\\q\": 1"), HasSubstr("unknown escape \\q"));
  EXPECT_THAT(error("\"\\ud800\": 1"), HasSubstr("not followed by a character's number"));
  EXPECT_THAT(error("\"\\u12"), HasSubstr("not followed by a character's number"));
}

class Import : public testing::Test {
 protected:
  // The model with `from` in its file replaced by `to`, as long; all other options as they are.
  std::string error_with(const std::string& from, const std::string& to) {
    std::string bytes = read_file(kData / "tiny.npz");
    const size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bytes.replace(at, from.size(), to);
    return error_of_bytes(bytes);
  }
  std::string error_of_bytes(const std::string& bytes) {
    replace_file(directory_ / "changed.npz", bytes);
    MarianImport changed = options();
    changed.weights = directory_ / "changed.npz";
    return error_of([&] { import_marian(changed, directory_ / "model"); });
  }
  static MarianImport options() {
    return {.weights = kData / "tiny.npz",
            .source_vocabulary = kData / "vocab.yml",
            .target_vocabulary = kData / "vocab.yml",
            .source_language = "en",
            .target_language = "art"};
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Import, TakesOverArchitectureAndVocabulary) {
  const model::Description made = import_marian(options(), directory_ / "model");
  EXPECT_EQ(made.model.residual.name, "post-ln");
  EXPECT_EQ(made.model.form, model::Form::marian);
  EXPECT_EQ(made.model.activation, model::Activation::swish);
  EXPECT_EQ(made.model.encoder_layers, 1);
  EXPECT_EQ(made.model.decoder_layers, 2);
  EXPECT_EQ(made.model.inner, 24);
  EXPECT_EQ(made.model.sharing, model::Sharing::all);
  const model::Directory model = model::Directory::open(directory_ / "model");
  const auto vocabulary = model.target_vocabulary();
  EXPECT_EQ(vocabulary.size(), 1127 + 2);  // <s> and <pad> are ours
  EXPECT_EQ(vocabulary.symbol(4), "the");
  const auto npz = Npz::open(kData / "tiny.npz");
  const auto theirs = npz.at("Wemb").to_float();
  const auto ours = model.parameter(model::source_embedding(made.model)).to_float();
  const int64_t d = made.model.width;
  EXPECT_TRUE(std::equal(theirs.begin(), theirs.begin() + d, ours.begin() + 2 * d));  // </s>
  EXPECT_TRUE(std::equal(theirs.begin() + 2 * d, theirs.end(), ours.begin() + 4 * d));
  EXPECT_TRUE(std::all_of(ours.begin(), ours.begin() + 2 * d, [](float x) { return x == 0; }));
  const auto bias = model.parameter(model::kOutputBias).to_float();
  EXPECT_EQ(bias[text::Vocabulary::kBos], bias[text::Vocabulary::kPad]);
  EXPECT_LT(bias[text::Vocabulary::kBos], -1e6F);
}

TEST_F(Import, RefusesWhatWouldBeComputedDifferently) {
  EXPECT_THAT(error_with("transformer-ffn-depth: 2", "transformer-ffn-depth: 3"),
              HasSubstr("transformer-ffn-depth is \"3\"; this version imports models with"));
  EXPECT_THAT(error_with("transformer-ffn-activation: swish", "transformer-ffn-activation: gelu "),
              HasSubstr("transformer-ffn-activation is \"gelu\""));
  EXPECT_THAT(error_with("right-left: false", "right-left: true "),
              HasSubstr("right-left is \"true\""));
  EXPECT_THAT(error_with("transformer-decoder-autoreg: self-attention",
                         "transformer-decoder-autoreg: rnn           "),
              HasSubstr("transformer-decoder-autoreg is \"rnn\""));
  EXPECT_THAT(error_with("transformer-postprocess: dan", "transformer-postprocess: dar"),
              HasSubstr("transformer-postprocess is \"dar\""));
  EXPECT_THAT(error_with("dec-depth: 2", "dec-depth: 1"),
              HasSubstr("has decoder_l2_context_Wk, which a model with its options does not use"));
  EXPECT_THAT(error_with("dec-depth: 2", "dec-depth: 3"),
              HasSubstr("has no array decoder_l3_self_Wq"));
  EXPECT_THAT(error_with("transformer-dim-ffn: 24", "transformer-dim-ffn: 25"),
              HasSubstr("encoder_l1_ffn_W1 has shape [16, 24], expected [16, 25]"));
}

TEST_F(Import, RefusesValuesOutOfRange) {
  EXPECT_THAT(error_with("transformer-heads: 2", "transformer-heads: 0"),
              HasSubstr("heads: must be at least 1, is 0"));
  EXPECT_THAT(error_with("enc-depth: 1", "enc-depth:-1"),
              HasSubstr("encoder_layers: must be at least 0, is -1"));
  MarianImport short_one = options();
  short_one.max_positions = 1;
  EXPECT_THAT(error_of([&] { import_marian(short_one, directory_ / "model"); }),
              HasSubstr("max_positions: must be at least 2, is 1"));
  // Rows without numbers, of which a few bytes can promise any number.
  EXPECT_THAT(error_with("'shape': (1127, 16), }     ", "'shape': (67108864,18032,0)"),
              HasSubstr("is damaged"));
}

TEST_F(Import, RefusesPreNormModelsOfOldVersions) {
  MarianImport old{.weights = directory_ / "old.npz",
                   .source_vocabulary = kData / "pre.en.vocab",
                   .target_vocabulary = kData / "pre.art.json",
                   .source_language = "en",
                   .target_language = "art"};
  std::string bytes = read_file(kData / "pre.npz");
  replace_file(old.weights, bytes);
  EXPECT_EQ(error_of([&] { import_marian(old, directory_ / "model"); }), "");
  bytes.replace(bytes.find("v1.12.42"), 8, "v1.10.42");
  replace_file(old.weights, bytes);
  EXPECT_THAT(error_of([&] { import_marian(old, directory_ / "model"); }),
              HasSubstr("did not normalise keys and values"));
}

class OtherVocabulary : public Import {
 protected:
  std::string error_with_file(const std::string& name, const std::string& content) {
    replace_file(directory_ / name, content);
    MarianImport other = options();
    other.source_vocabulary = other.target_vocabulary = directory_ / name;
    return error_of([&] { import_marian(other, directory_ / "model"); });
  }
  std::string symbol(int32_t id) const {
    return std::string(model::Directory::open(directory_ / "model").target_vocabulary().symbol(id));
  }
  const std::string text_ = read_file(kData / "vocab.yml");
};

TEST_F(OtherVocabulary, IsRefusedIfItCannotBeTheModels) {
  EXPECT_THAT(error_with_file("v.yml", "</s>: 0\na: 1\n"), HasSubstr("has no <unk> among"));
  EXPECT_THAT(error_with_file("v.yml", "</s>: 0\n<unk>: 0\n"), HasSubstr("have the number 0"));
  EXPECT_THAT(error_with_file("v.json", R"({"": 0, "</s>": 0, "<unk>": 1})"),
              HasSubstr("\"\" and \"</s>\" have the number 0"));
  EXPECT_THAT(error_with_file("v.yml", "</s>: 0\n<unk>: one\n"),
              HasSubstr("\"<unk>\" has no number"));
  EXPECT_THAT(error_with_file("v.yml", "</s>: 0\n<unk>: -1\n"), HasSubstr("has the number -1"));
  EXPECT_THAT(error_with_file("v.json", "[1]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(error_with_file("v.vocab", std::string("a\0b\n", 4)),
              HasSubstr("is neither text nor"));
  EXPECT_THAT(error_with_file("v.spm", "pieces"), HasSubstr("v.spm: not a SentencePiece model"));
}

TEST_F(OtherVocabulary, MayHaveMoreSymbolsThanTheMatrixHasRows) {
  log::set_level(log::Level::off);
  EXPECT_EQ(error_with_file("v.yml", text_ + "\none-more: 1127\n</s>: 5000\n"), "");
  log::set_level(log::Level::info);
  EXPECT_EQ(symbol(4), "the");
}

TEST_F(OtherVocabulary, MayBeASymbolOnEachLine) {
  EXPECT_EQ(error_with_file("v.vocab", "</s>\n<unk>\nthe\r\nwill"), "");
  EXPECT_EQ(symbol(4), "the");
  EXPECT_EQ(symbol(5), "will");
  // Rows without a symbol are never given.
  const auto model = model::Directory::open(directory_ / "model");
  EXPECT_EQ(symbol(6), "<nothing-4>");
  const auto bias = model.parameter(model::kOutputBias).to_float();
  EXPECT_GT(bias[5], -1e6F);
  EXPECT_LT(bias[6], -1e6F);
}

TEST_F(OtherVocabulary, MayHaveSymbolsThatNoTextCanHave) {
  EXPECT_EQ(
      error_with_file("v.yml", "</s>: 0\n<unk>: 1\n\"\xC1\xBF\": 2\n\"a b\": 3\n<s>: 4\nx: 5\n"),
      "");
  EXPECT_EQ(symbol(4), "<nothing-2>");
  EXPECT_EQ(symbol(5), "<nothing-3>");
  EXPECT_EQ(symbol(7), "x");
}

TEST_F(Import, CanBeTranslatedWithButNotExportedOrTrained) {
  const model::Description made = import_marian(options(), directory_ / "model");
  EXPECT_THAT(error_of([&] { model::require_trainable(made.model, "trained"); }),
              HasSubstr("can translate, but cannot be trained"));
  const model::Directory model = model::Directory::open(directory_ / "model");
  EXPECT_THAT(error_of([&] { export_ctranslate2(model, directory_ / "ct2"); }),
              HasSubstr("but cannot be exported to CTranslate2"));
  EXPECT_THAT(error_of([&] { fairseq_parts(made.model); }),
              HasSubstr("but cannot be exported to fairseq"));
}

TEST_F(Import, SaysWhenItIsNoArchiveOfMarian) {
  EXPECT_THAT(error_of_bytes("no archive"), HasSubstr("is not a NumPy archive"));
  EXPECT_THAT(error_of_bytes(""), HasSubstr("changed.npz"));
  std::string without = read_file(kData / "tiny.npz");
  for (size_t at = 0; (at = without.find("special:", at)) != std::string::npos;) without[at] = 'x';
  EXPECT_THAT(error_of_bytes(without), HasSubstr("has no special:model.yml"));
}

// Whatever is cut off or changed: an Error or a model, nothing else.
TEST_F(Import, SurvivesDamage) {
  const std::string whole = read_file(kData / "tiny.npz");
  const Random random(1);
  for (uint64_t i = 0; i < 300; ++i) {
    error_of_bytes(whole.substr(0, random.below(2 * i, whole.size())));
    std::string changed = whole;
    for (uint64_t k = 0; k < 8; ++k) {  // most of them at the end, where the list of members is
      const size_t back = random.below(1000 * i + 2 * k, k % 2 == 0 ? 6000 : whole.size());
      changed[whole.size() - 1 - back] = static_cast<char>(random.bits(1000 * i + 2 * k + 1));
    }
    error_of_bytes(changed);
  }
}

}  // namespace
}  // namespace residual::interop
