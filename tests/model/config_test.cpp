#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "schemes/deepnorm.h"
#include "support/model_files.h"

namespace residual::model {
namespace {

using schemes::Side;
using testing::HasSubstr;

std::string refusal(const std::function<void(Config&)>& change) {
  Config config = test::small_config();
  change(config);
  try {
    check(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Config, SurvivesWritingAndReading) {
  Config config = test::small_config("deepnorm");
  config.kind = Kind::masked;
  config.sharing = Sharing::target;
  config.residual.options = schemes::DeepNorm::Options{.alpha = 1.5};
  Config read;
  read_toml(to_toml(config), "f", [&](ConfigVisitor& visit) { fields(visit, read); });
  EXPECT_EQ(to_toml(read), to_toml(config));
}

TEST(Config, RefusesNumbersThatDoNotFitEachOther) {
  EXPECT_EQ(refusal([](Config&) {}), "accepted");
  EXPECT_THAT(refusal([](Config& c) { c.heads = 3; }), HasSubstr("8 is not divisible by 3 heads"));
  EXPECT_THAT(refusal([](Config& c) { c.width = c.heads = 7; }),
              HasSubstr("model.width: 7 is not an even number"));
  EXPECT_THAT(refusal([](Config& c) { c.encoder_layers = 0; }), HasSubstr("model.encoder_layers"));
  EXPECT_THAT(refusal([](Config& c) { c.decoder_layers = 0; }), HasSubstr("model.decoder_layers"));
  EXPECT_THAT(refusal([](Config& c) { c.source_vocabulary = 12; }),
              HasSubstr("\"all\" needs one vocabulary; source has 12 symbols, target 10"));
}

TEST(Config, RefusesBlocksThatDoNotFit) {
  EXPECT_THAT(refusal([](Config& c) { c.heads = 4, c.key_value_heads = 3; }),
              HasSubstr("model.kv_heads: 3 does not divide the 4 heads"));
  EXPECT_EQ(refusal([](Config& c) { c.heads = 4, c.key_value_heads = 2; }), "accepted");
  EXPECT_THAT(refusal([](Config& c) { c.heads = 8, c.positions = Positions::rotary; }),
              HasSubstr("rotary positions rotate pairs of numbers, but a head has 1"));
  EXPECT_EQ(refusal([](Config& c) { c.width = c.heads = 7, c.positions = Positions::learned; }),
            "accepted");
  EXPECT_THAT(refusal([](Config& c) { c.form = Form::hugging_face; }),
              HasSubstr("hugging-face is for language and masked models"));
}

TEST(Config, NamesWhatClassicBlocksDoNotHave) {
  const auto fault = [](const std::function<void(Config&)>& change) -> std::string {
    Config config;
    change(config);
    try {
      require_classic_blocks(config, "these files");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault([](Config&) {}), "");
  EXPECT_EQ(fault([](Config& c) { c.norm = Norm::rms; }),
            "these files have no place for a model with model.norm = rms");
  EXPECT_THAT(fault([](Config& c) { c.positions = Positions::rotary; }), HasSubstr("rotary"));
  EXPECT_THAT(fault([](Config& c) { c.activation = Activation::gelu; }), HasSubstr("gelu"));
  EXPECT_THAT(fault([](Config& c) { c.gated = true; }), HasSubstr("model.gated = true"));
  EXPECT_THAT(fault([](Config& c) { c.key_value_heads = 2; }), HasSubstr("model.kv_heads = 2"));
  EXPECT_THAT(fault([](Config& c) { c.biases = false; }), HasSubstr("model.biases = false"));
  EXPECT_THAT(fault([](Config& c) { c.given_norm_epsilon = 0.1; }), HasSubstr("norm_epsilon"));
}

TEST(Config, RefusesVocabulariesOfSpecialSymbolsAlone) {
  const auto both = [](int64_t symbols) {
    return [symbols](Config& c) { c.source_vocabulary = c.target_vocabulary = symbols; };
  };
  EXPECT_EQ(refusal(both(0)), "accepted");  // not known yet
  EXPECT_EQ(refusal(both(5)), "accepted");
  for (const int64_t symbols : {1, 4}) {
    EXPECT_THAT(refusal(both(symbols)), HasSubstr("model.source_vocabulary: "));
  }
  EXPECT_THAT(refusal([](Config& c) {
                c.sharing = Sharing::target;
                c.target_vocabulary = 4;
              }),
              HasSubstr("model.target_vocabulary: 4 symbols are too few"));
}

TEST(Config, RefusesSchemesAndOptionsThatDoNotExist) {
  EXPECT_THAT(refusal([](Config& c) { c.residual.name = "resi-duel"; }),
              HasSubstr("did you mean \"resi-dual\"?"));
  EXPECT_THAT(refusal([](Config& c) { c.residual.variant = "paper"; }),
              HasSubstr("no variant \"paper\""));
}

TEST(Config, AModelWithOneStackNeedsNoLayersOfTheOther) {
  const auto one_stack = [](Kind kind) {
    return [kind](Config& c) {
      c.kind = kind;
      (kind == Kind::language ? c.encoder_layers : c.decoder_layers) = 0;
    };
  };
  EXPECT_EQ(refusal(one_stack(Kind::language)), "accepted");
  EXPECT_EQ(refusal(one_stack(Kind::masked)), "accepted");
}

TEST(Config, OnlyDecodersOfTranslationModelsHaveCrossAttention) {
  Config config = test::small_config();
  EXPECT_EQ(stack(config, Side::encoder).blocks_per_layer, 2);
  EXPECT_EQ(stack(config, Side::decoder).blocks_per_layer, 3);
  EXPECT_EQ(stack(config, Side::decoder).other_layers, 2);
  config.kind = Kind::language;
  EXPECT_EQ(stack(config, Side::decoder).blocks_per_layer, 2);
  EXPECT_EQ(stack(config, Side::decoder).other_layers, 0);
}

}  // namespace
}  // namespace residual::model
