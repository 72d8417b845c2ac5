#include "model/marian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "model/export.h"
#include "model/fairseq.h"
#include "model/flat_yaml.h"
#include "model/npz.h"
#include "model/parameters.h"
#include "support/temporary.h"

namespace residual::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const fs::path kData = fs::path(RESIDUAL_TEST_DATA) / "marian";

template <class Work>
std::string error_of(Work work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

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

TEST(FlatYaml, NamesTheLineThatIsWrong) {
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_flat_yaml(text, "v.yml"); });
  };
  EXPECT_THAT(error("a: 1\nb\n"), HasSubstr("v.yml, line 2: expected \"key: value\", got \"b\""));
  EXPECT_THAT(error("a: 1\na: 2\n"), HasSubstr("v.yml, line 2: a comes twice"));
  EXPECT_THAT(error("\"a: 1"), HasSubstr("line 1: a quotation has no end"));
  EXPECT_THAT(error("'a: 1"), HasSubstr("line 1: a quotation has no end"));
  EXPECT_THAT(error("\"\\q\": 1"), HasSubstr("unknown escape \\q"));
  EXPECT_THAT(error("\"\\ud800\": 1"), HasSubstr("no character's number"));
  EXPECT_THAT(error("\"\\u12"), HasSubstr("no character's number"));
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
  const Description made = import_marian(options(), directory_ / "model");
  EXPECT_EQ(made.model.residual.name, "post-ln");
  EXPECT_EQ(made.model.form, Form::marian);
  EXPECT_EQ(made.model.activation, Activation::swish);
  EXPECT_EQ(made.model.encoder_layers, 1);
  EXPECT_EQ(made.model.decoder_layers, 2);
  EXPECT_EQ(made.model.inner, 24);
  EXPECT_EQ(made.model.sharing, Sharing::all);
  const Directory model = Directory::open(directory_ / "model");
  const auto vocabulary = model.target_vocabulary();
  EXPECT_EQ(vocabulary.size(), 1127 + 2);  // <s> and <pad> are ours
  EXPECT_EQ(vocabulary.symbol(4), "the");
  const auto npz = Npz::open(kData / "tiny.npz");
  const auto theirs = npz.at("Wemb").to_float();
  const auto ours = model.parameter(source_embedding(made.model)).to_float();
  const int64_t d = made.model.width;
  EXPECT_TRUE(std::equal(theirs.begin(), theirs.begin() + d, ours.begin() + 2 * d));  // </s>
  EXPECT_TRUE(std::equal(theirs.begin() + 2 * d, theirs.end(), ours.begin() + 4 * d));
  EXPECT_TRUE(std::all_of(ours.begin(), ours.begin() + 2 * d, [](float x) { return x == 0; }));
  const auto bias = model.parameter(kOutputBias).to_float();
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
              HasSubstr("has decoder_l2_context_Wk, which a model of its options has no use for"));
  EXPECT_THAT(error_with("dec-depth: 2", "dec-depth: 3"),
              HasSubstr("has no array decoder_l3_self_Wq"));
  EXPECT_THAT(error_with("transformer-dim-ffn: 24", "transformer-dim-ffn: 25"),
              HasSubstr("encoder_l1_ffn_W1 has shape [16, 24], expected [16, 25]"));
}

TEST_F(Import, RefusesAnotherVocabulary) {
  MarianImport other = options();
  const std::string text = read_file(kData / "vocab.yml");
  const auto error_with_text = [&](const std::string& changed) {
    replace_file(directory_ / "other.yml", changed);
    other.source_vocabulary = other.target_vocabulary = directory_ / "other.yml";
    return error_of([&] { import_marian(other, directory_ / "model"); });
  };
  EXPECT_THAT(error_with_text(text + "\none-more: 1127\n"),
              HasSubstr("has 1128 symbols, the model's matrix only 1127 rows"));
  EXPECT_THAT(error_with_text("</s>: 0\na: 1\n"), HasSubstr("has no <unk>"));
  EXPECT_THAT(error_with_text("</s>: 0\n<unk>: 0\n"), HasSubstr("have the number 0"));
  EXPECT_THAT(error_with_text("</s>: 0\n<unk>: one\n"), HasSubstr("\"<unk>\" has no number"));
  EXPECT_THAT(error_with_text("</s>: 0\n<unk>: -1\n"), HasSubstr("has the number -1"));
  other.target_vocabulary = kData / "vocab.yml";
  EXPECT_THAT(error_of([&] { import_marian(other, directory_ / "model"); }),
              HasSubstr("number -1"));
}

TEST_F(Import, CanBeTranslatedWithButNotExportedOrTrained) {
  const Description made = import_marian(options(), directory_ / "model");
  EXPECT_THAT(error_of([&] { require_trainable(made.model, "trained"); }),
              HasSubstr("can be translated with, but not trained"));
  const Directory model = Directory::open(directory_ / "model");
  EXPECT_THAT(error_of([&] { export_ctranslate2(model, directory_ / "ct2"); }),
              HasSubstr("but not exported to CTranslate2"));
  EXPECT_THAT(error_of([&] { fairseq_parts(made.model); }),
              HasSubstr("but not exported to fairseq"));
}

TEST_F(Import, SaysWhenItIsNoArchiveOfMarian) {
  EXPECT_THAT(error_of_bytes("no archive"), HasSubstr("is no NumPy archive"));
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
}  // namespace residual::model
