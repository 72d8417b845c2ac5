#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "interop/marian.h"
#include "model/parameters.h"
#include "model/positions.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace residual::interop {
namespace {

using testing::HasSubstr;
using text::Vocabulary;

const fs::path kData = fs::path(test::fixtures()) / "marian";

class HuggingFace : public testing::Test {
 protected:
  HuggingFace() { fs::copy(kData / "opus-mt-en-art", files_); }

  std::string error_of(const MarianImport& options) const {
    return residual::test::error_of([&] { import_marian(options, model_); });
  }
  std::string error() const { return error_of({.weights = files_}); }
  // With `from` in a file replaced by `to`; the file is as it was afterwards.
  std::string error_with(const char* file, const std::string& from, const std::string& to) const {
    const std::string was = read_file(files_ / file);
    const size_t at = was.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    replace_file(files_ / file, std::string(was).replace(at, from.size(), to));
    std::string text = error();
    replace_file(files_ / file, was);
    return text;
  }
  std::string error_with_config(const std::string& from, const std::string& to) const {
    return error_with("config.json", from, to);
  }

  // The tensors as float32, to be changed and written back.
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors() const {
    std::map<std::string, Tensor> all;
    const auto file = model::SafeTensors::open(kData / "opus-mt-en-art/model.safetensors");
    for (const auto& [name, tensor] : file.tensors()) all[name] = {tensor.shape, tensor.to_float()};
    return all;
  }
  void write(const std::map<std::string, Tensor>& all) const {
    std::vector<model::TensorBytes> list;
    for (const auto& [name, t] : all) {
      const auto* bytes = reinterpret_cast<const char*>(t.values.data());
      list.push_back({name, model::Dtype::f32, t.shape, {bytes, sizeof(float) * t.values.size()}});
    }
    model::write_safetensors(files_ / "model.safetensors", list, {});
  }
  std::string imported_weights() const {
    EXPECT_EQ(error(), "");
    return read_file(model_ / model::kWeightsFile);
  }
  static Tensor positions(model::Form form) {
    Tensor table{{128, 16}, std::vector<float>(128 * 16)};
    for (int64_t i = 0; i < 128; ++i) {
      model::sinusoid(i, std::span(table.values).subspan(static_cast<size_t>(16 * i), 16), form);
    }
    return table;
  }

  test::TemporaryDirectory directory_;
  const fs::path files_ = directory_ / "opus", model_ = directory_ / "model";
};

TEST_F(HuggingFace, ArchitectureAndLanguagesAreTakenOver) {
  const model::Description made = import_marian({.weights = files_ / ""}, model_);
  EXPECT_EQ(made.origin, "imported from opus (Hugging Face's MarianMT)");
  EXPECT_EQ(made.model.residual.name, "post-ln");
  EXPECT_EQ(made.model.form, model::Form::marian_hf);
  EXPECT_EQ(made.model.activation, model::Activation::swish);
  EXPECT_EQ(made.model.encoder_layers, 1);
  EXPECT_EQ(made.model.decoder_layers, 2);
  EXPECT_EQ(made.model.inner, 24);
  EXPECT_EQ(made.model.max_positions, 128);
  EXPECT_EQ(made.model.sharing, model::Sharing::all);
  EXPECT_EQ(made.directions[0].source, "en");
  EXPECT_EQ(made.directions[0].target, "art");
}

TEST_F(HuggingFace, PadIsWhatTheDecoderBeginsWith) {
  const model::Description made = import_marian({.weights = files_}, model_);
  const model::Directory model = model::Directory::open(model_);
  EXPECT_EQ(model.target_vocabulary().size(), 255 + 1);  // <s> is ours
  EXPECT_EQ(model.target_vocabulary().symbol(4), ">>art<<");
  auto all = tensors();
  const auto& theirs = all["model.shared.weight"].values;
  const auto ours = model.parameter(model::source_embedding(made.model)).to_float();
  const auto d = static_cast<size_t>(made.model.width);
  const std::vector<float> pad(theirs.end() - static_cast<int64_t>(d), theirs.end());
  EXPECT_THAT(pad, testing::Contains(testing::Ne(0)));
  const auto row = [&](size_t id) {
    return std::vector<float>(ours.begin() + id * d, ours.begin() + (id + 1) * d);
  };
  EXPECT_EQ(row(Vocabulary::kBos), pad);
  EXPECT_EQ(row(Vocabulary::kPad), pad);
  EXPECT_EQ(row(Vocabulary::kEos), std::vector<float>(theirs.begin(), theirs.begin() + d));
  const auto bias = model.parameter(model::kOutputBias).to_float();
  EXPECT_LT(bias[Vocabulary::kBos], -1e6F);
  EXPECT_EQ(bias[Vocabulary::kPad], all["final_logits_bias"].values.back());
}

TEST_F(HuggingFace, OptionsOverruleTheFiles) {
  const model::Description made = import_marian({.weights = files_,
                                                 .source_language = "eng",
                                                 .target_language = "qaa",
                                                 .source_tags = {">>art<<"},
                                                 .max_positions = 64},
                                                model_);
  EXPECT_EQ(made.directions[0].source, "eng");
  EXPECT_EQ(made.directions[0].target, "qaa");
  EXPECT_EQ(made.directions[0].source_tag, ">>art<<");
  EXPECT_EQ(made.model.max_positions, 64);
  EXPECT_THAT(error_of({.weights = files_, .source_tags = {">>deu<<"}}),
              HasSubstr("vocab.json: has no symbol >>deu<<"));
  EXPECT_THAT(error_of({.weights = files_, .source_vocabulary = files_ / "vocab.json"}),
              HasSubstr("is a directory with vocabularies and"));
}

TEST_F(HuggingFace, SeveralTagsAreDirections) {
  EXPECT_THAT(error_of({.weights = files_, .source_tags = {">>art<<", ">>art<<"}}),
              HasSubstr("art has two tags"));
  std::string symbols = read_file(files_ / "vocab.json");
  for (const std::string tag : {">>zh_TW<<", ">>en<<"}) {
    const size_t begin = symbols.find(R"("\u2581)") + 1;
    symbols.replace(begin, symbols.find('"', begin) - begin, tag);
  }
  replace_file(files_ / "vocab.json", symbols);
  const auto made = import_marian({.weights = files_, .source_tags = {"all"}}, model_);
  std::vector<std::string> targets;
  for (const auto& d : made.directions) targets.push_back(d.source + " " + d.target + d.source_tag);
  EXPECT_THAT(targets, testing::UnorderedElementsAre("en art>>art<<", "en zh_TW>>zh_TW<<"));
  const model::Directory model = model::Directory::open(model_);
  for (const char* language : {"en", "art", "zh_TW"}) model.segmenter(language);
  EXPECT_EQ(model.direction("", "zh_TW").source_tag, ">>zh_TW<<");
  EXPECT_THAT(error_of({.weights = files_, .source_tags = {">>art<<", "</s>"}}),
              HasSubstr("--tag </s>: each of several tags must look like >>deu<<"));
}

// Which of the names that one matrix has are in the file depends on the library's version.
TEST_F(HuggingFace, OneMatrixMayGoByAnyOfItsNames) {
  const std::string expected = imported_weights();
  auto all = tensors();
  write(all);
  EXPECT_EQ(imported_weights(), expected) << "float32 instead of float16";
  all["lm_head.weight"] = all["model.decoder.embed_tokens.weight"] = all["model.shared.weight"];
  all["model.encoder.embed_positions.weight"] = positions(model::Form::marian_hf);
  write(all);
  EXPECT_EQ(imported_weights(), expected);
  all.erase("model.shared.weight");
  write(all);
  EXPECT_EQ(imported_weights(), expected);
  all["lm_head.weight"].values[5] += 1;
  write(all);
  EXPECT_THAT(error(), HasSubstr("differ, but config.json says that they are shared"));
  all.erase("lm_head.weight");
  all.erase("model.decoder.embed_tokens.weight");
  write(all);
  EXPECT_THAT(error(), HasSubstr("has no model.shared.weight or model.encoder.embed_tokens"));
}

TEST_F(HuggingFace, EmbeddingsNeedNotBeTied) {
  auto all = tensors();
  all["lm_head.weight"] = all["model.shared.weight"];
  all["lm_head.weight"].values[0] += 1;
  write(all);
  EXPECT_EQ(error_with_config("{", "{\"tie_word_embeddings\": false,"), "");
  EXPECT_EQ(model::Directory::open(model_).description().model.sharing, model::Sharing::none);
  all["model.encoder.embed_tokens.weight"] = all["model.shared.weight"];
  all.erase("model.shared.weight");
  write(all);
  EXPECT_EQ(
      error_with_config("embeddings\": true,\n  \"static", "embeddings\": false,\n  \"static"), "");
  EXPECT_EQ(model::Directory::open(model_).description().model.sharing, model::Sharing::target);
}

TEST_F(HuggingFace, LogitsMayHaveNoBias) {
  auto all = tensors();
  all.erase("final_logits_bias");
  write(all);
  EXPECT_EQ(error(), "");
  const auto bias = model::Directory::open(model_).parameter(model::kOutputBias).to_float();
  EXPECT_EQ(std::vector<float>(bias.begin() + 1, bias.end()), std::vector<float>(255));
}

TEST_F(HuggingFace, OtherTensorsAreRefused) {
  const auto all = tensors();
  auto changed = all;
  changed["model.encoder.layernorm_embedding.weight"] = {{16}, std::vector<float>(16)};
  write(changed);
  EXPECT_THAT(error(),
              HasSubstr("layernorm_embedding.weight, which a model with its options does"));
  changed = all;
  changed["model.decoder.embed_positions.weight"] = positions(model::Form::marian);
  write(changed);
  EXPECT_THAT(error(), HasSubstr("does not hold the library's sinusoids"));
  changed = all;
  changed["final_logits_bias"].shape = {255};
  write(changed);
  EXPECT_THAT(error(), HasSubstr("final_logits_bias has shape [255], expected [1, 255]"));
  changed.erase("model.decoder.layers.1.fc2.bias");
  changed["final_logits_bias"].shape = {1, 255};
  write(changed);
  EXPECT_THAT(error(), HasSubstr("model.decoder.layers.1.fc2.bias"));
}

TEST_F(HuggingFace, WhatWouldBeComputedDifferentlyIsRefused) {
  EXPECT_THAT(error_with_config("\"swish\"", "\"gelu\""),
              HasSubstr("activation_function is \"gelu\"; this version imports models with"));
  EXPECT_THAT(error_with_config("\"activation_function\"", "\"unheard_of\""),
              HasSubstr("activation_function is \"gelu\""));
  EXPECT_THAT(error_with_config("\"normalize_before\": false", "\"normalize_before\": true"),
              HasSubstr("normalize_before is \"true\""));
  EXPECT_THAT(error_with_config("\"scale_embedding\": true", "\"scale_embedding\": false"),
              HasSubstr("scale_embedding is \"false\""));
  EXPECT_THAT(error_with_config("\"static_position_embeddings\": true",
                                "\"static_position_embeddings\": false"),
              HasSubstr("static_position_embeddings is \"false\""));
  EXPECT_THAT(error_with_config("\"marian\"", "\"bart\""), HasSubstr("model_type is \"bart\""));
  EXPECT_THAT(error_with_config("\"decoder_ffn_dim\": 24", "\"decoder_ffn_dim\": 25"),
              HasSubstr("encoder_ffn_dim is 24 and decoder_ffn_dim is 25"));
  EXPECT_THAT(error_with_config("\"decoder_layers\": 2", "\"decoder_layers\": 1"),
              HasSubstr("which a model with its options does not use"));
  EXPECT_THAT(error_with("generation_config.json", "      254", "      7"),
              HasSubstr("bad_words_ids is \"[[7]]\""));
  EXPECT_THAT(error_with("generation_config.json", "\"max_length\"", "\"forced_bos_token_id\""),
              HasSubstr("forced_bos_token_id is \"128\""));
  EXPECT_THAT(error_with("generation_config.json", "\"eos_token_id\": 0", "\"eos_token_id\": 5"),
              HasSubstr("eos_token_id differs from config.json"));
}

TEST_F(HuggingFace, ValuesOutOfRangeAreRefused) {
  EXPECT_THAT(error_with_config("\"d_model\": 16", "\"d_model\": -16"),
              HasSubstr("width: must be at least 1, is -16"));
  EXPECT_THAT(error_with_config("\"d_model\": 16", "\"d_model\": 1e9"),
              HasSubstr("d_model: expected a number"));
  EXPECT_THAT(error_with_config("\"d_model\": 16", "\"d_model\": null"),
              HasSubstr("has no d_model"));
  EXPECT_THAT(error_with_config("\"vocab_size\": 255", "\"vocab_size\": 99999999999"),
              HasSubstr("vocab_size: 99999999999 is out of range"));
  EXPECT_THAT(
      error_with_config("\"decoder_start_token_id\": 254", "\"decoder_start_token_id\": -1"),
      HasSubstr("decoder_start_token_id: -1 is not the number of a symbol"));
  EXPECT_THAT(error_with_config("\"pad_token_id\": 254", "\"pad_token_id\": 255"),
              HasSubstr("pad_token_id is 255, but the vocabulary's <pad> is 254"));
  EXPECT_THAT(error_with_config("\"eos_token_id\": 0", "\"eos_token_id\": 1"),
              HasSubstr("eos_token_id is 1, but the vocabulary's </s> is 0"));
  EXPECT_THAT(error_with_config("true", "[]"), HasSubstr("is_encoder_decoder is \"[]\""));
  EXPECT_THAT(error_with_config("{", "["), HasSubstr("config.json: is not a JSON object"));
}

TEST_F(HuggingFace, VocabulariesThatCannotBeTheModelsAreRefused) {
  const auto error = [&](const char* from, const char* to) {
    return error_with("vocab.json", from, to);
  };
  EXPECT_THAT(error("\"<pad>\": 254", "\"<pad>\": 253"), HasSubstr("have the number 253"));
  EXPECT_THAT(error("\"<pad>\": 254", "\"<pad>\": 255"), HasSubstr("has the number 255"));
  EXPECT_THAT(error("\"<pad>\": 254", "\"<pad>\": -1"), HasSubstr("has the number -1"));
  EXPECT_THAT(error("\"<pad>\": 254", "\"<pad>\": \"x\""), HasSubstr("has no number"));
  EXPECT_THAT(error("\"<pad>\"", "\"<bad>\""), HasSubstr("has no <pad>"));
  EXPECT_THAT(error("\"<unk>\"", "\"<umk>\""), HasSubstr("has no <unk>"));
  EXPECT_THAT(error("{", "{\"one more\": 255,"),
              HasSubstr("has 256 symbols, the model's matrix 255 rows"));
  // The empty symbol takes a number too: another row would have none.
  EXPECT_THAT(error("\"z\": 253", "\"\": 254"),
              HasSubstr("\"\" and \"<pad>\" have the number 254"));
}

// What a vocabulary file of ours cannot hold has no place in translations either.
TEST_F(HuggingFace, SymbolsWithBlanksAreNeverGiven) {
  log::set_level(log::Level::off);
  EXPECT_EQ(error_with("vocab.json", "\">>art<<\"", "\"a b\""), "");
  log::set_level(log::Level::info);
  const model::Directory model = model::Directory::open(model_);
  EXPECT_EQ(model.target_vocabulary().symbol(4), "<nothing-2>");
  EXPECT_LT(model.parameter(model::kOutputBias).to_float()[4], -1e6F);
}

TEST_F(HuggingFace, FilesThatAreMissingAreNamed) {
  const auto without = [&](const char* file) {
    fs::rename(files_ / file, directory_ / "away");
    std::string text = error();
    fs::rename(directory_ / "away", files_ / file);
    return text;
  };
  for (const char* file :
       {"config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"}) {
    EXPECT_THAT(without(file), HasSubstr(fmt::format("has no {}; expected the files of", file)));
  }
  EXPECT_EQ(without("generation_config.json"), "");
  EXPECT_THAT(without("tokenizer_config.json"),
              HasSubstr("tokenizer_config.json has no source_lang; give --source-language"));
  EXPECT_THAT(error_with("tokenizer_config.json", "\"separate_vocabs\": false",
                         "\"separate_vocabs\": true"),
              HasSubstr("has no target_vocab.json"));
  replace_file(files_ / "pytorch_model.bin", "");
  EXPECT_THAT(without("model.safetensors"), HasSubstr("safe_serialization=True"));
}

// Whatever is cut off or changed: an Error or a model, nothing else.
TEST_F(HuggingFace, SurvivesDamage) {
  log::set_level(log::Level::off);
  const Random random(1);
  for (const char* file : {"config.json", "generation_config.json", "tokenizer_config.json",
                           "vocab.json", "source.spm", "model.safetensors"}) {
    const std::string whole = read_file(files_ / file);
    for (uint64_t i = 0; i < 20; ++i) {
      replace_file(files_ / file, whole.substr(0, random.below(2 * i, whole.size())));
      error();
      std::string changed = whole;
      for (uint64_t k = 0; k < 4; ++k) {
        const size_t at = random.below(1000 * i + 2 * k, std::min<size_t>(whole.size(), 3000));
        changed[at] = static_cast<char>(random.bits(1000 * i + 2 * k + 1));
      }
      replace_file(files_ / file, changed);
      error();
    }
    replace_file(files_ / file, whole);
  }
  log::set_level(log::Level::info);
  EXPECT_EQ(error(), "");
}

}  // namespace
}  // namespace residual::interop
