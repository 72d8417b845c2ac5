// The recipes say what was published: the paper's tables 9 to 11, the authors' configurations, and
// one recipe for each row of tables 2 to 8 that was trained for them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "data/recipe.h"
#include "run/config.h"
#include "schemes/registry.h"
#include "schemes/resi_dual.h"
#include "support/paths.h"

namespace residual::run {
namespace {

const fs::path kRecipes = fs::path(test::source_tree()) / "recipes";

// Those that say how to prepare a corpus; all others train.
const std::set<std::string> kDataRecipes = {"debian",  "debian-text", "iwslt14", "multi30k",
                                            "opus100", "tatoeba",     "wmt14"};

TrainConfig recipe(const std::string& name) {
  TrainConfig config;
  read_layered_config(kRecipes / (name + ".toml"), config);
  return config;
}

std::set<std::string> training_recipes() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kRecipes)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().stem();
    if (!kDataRecipes.contains(name)) names.insert(name);
  }
  return names;
}

TEST(Recipes, CanAllBeFollowed) {
  for (const auto& name : kDataRecipes) {
    SCOPED_TRACE(name);
    data::Recipe recipe;
    EXPECT_NO_THROW(read_layered_config(kRecipes / (name + ".toml"), recipe));
  }
  for (const auto& name : training_recipes()) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(check(recipe(name)));
    EXPECT_FALSE(recipe(name).description.empty());
  }
}

TEST(Recipes, WithoutWarmUpSayWhatALowerPeakNeeds) {
  TrainConfig config = recipe("iwslt14-resi-dual-no-warmup");
  config.schedule.peak = 1e-4;
  EXPECT_THAT([&] { check(config); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("schedule.warmup_init: 0.0005")));
}

TEST(Recipes, HaveDifferentDescriptionsAndBasesThatAreUsed) {
  std::set<std::string> descriptions;
  std::string all;
  for (const auto& name : training_recipes()) {
    EXPECT_TRUE(descriptions.insert(recipe(name).description).second) << name;
    all += read_file(kRecipes / (name + ".toml"));
  }
  for (const auto& entry : fs::directory_iterator(kRecipes / "base")) {
    all += read_file(entry.path());
    recipe("base/" + entry.path().stem().string());  // strict: every key is known
  }
  for (const auto& entry : fs::directory_iterator(kRecipes / "base")) {
    EXPECT_THAT(all, testing::HasSubstr(entry.path().filename().string() + "\""));
  }
}

// What a data set's rows have in common.
struct Published {
  int64_t width, inner, heads;
  double dropout, attention, activation, peak;
  int64_t warmup;
  double weight_decay, clip_norm;
  int64_t updates, tokens;  // tokens: of an update, on each side
  LabelSmoothing smoothing;
};

constexpr Published kIwsltPaper = {
    256, 1024, 4, 0.3, 0.1, 0.1, 5e-4, 4000, 1e-4, 0, 300'000, 4096, LabelSmoothing::others};
constexpr Published kIwsltReference = {
    256, 1024, 4, 0.3, 0.1, 0.1, 5e-4, 4000, 1e-4, 0, 500'000, 4096, LabelSmoothing::others};
constexpr Published kWmtPaper = {
    512, 2048, 8, 0.3, 0.1, 0.1, 1e-3, 4000, 1e-4, 0, 500'000, 65'536, LabelSmoothing::others};
constexpr Published kWmtReference = {
    512, 2048, 8, 0.3, 0.1, 0.1, 1e-3, 4000, 1e-4, 0, 50'000, 65'536, LabelSmoothing::others};
constexpr Published kWmtTakase = {
    512, 2048, 8, 0.3, 0, 0, 1e-3, 4000, 0, 0, 50'000, 458'752, LabelSmoothing::all};
constexpr Published kWmtTakaseDeep = {
    512, 2048, 8, 0.4, 0, 0, 1e-3, 4000, 0, 0, 50'000, 458'752, LabelSmoothing::all};
constexpr Published kOpusPaper = {
    512, 2048, 8, 0.1, 0.1, 0.1, 1e-3, 4000, 1e-4, 0, 100'000, 65'536, LabelSmoothing::others};
constexpr Published kOpusReference = {
    512, 2048, 8, 0.1, 0.1, 0.1, 4e-3, 8000, 0, 1, 100'000, 65'536, LabelSmoothing::others};

struct Row {
  std::string file, scheme;
  int64_t layers;
  Published published;
  ScheduleKind schedule = ScheduleKind::inverse_sqrt;
  double first_rate = 1e-7;  // of the warm-up
};

// T-Fixup has its own schedule; every other row of tables 2, 3, 4, 6 and 7 warms up.
std::vector<Row> table_rows() {
  std::vector<Row> rows;
  const auto add = [&](const std::string& data, const std::string& scheme, int64_t layers,
                       const Published& published) {
    const std::string depth = layers == 6 ? "" : "-" + std::to_string(layers);
    rows.push_back({data + "-" + scheme + depth, scheme, layers, published});
    if (scheme == "t-fixup") rows.back().schedule = ScheduleKind::t_fixup;
  };
  for (const char* scheme : {"post-ln", "pre-ln", "deepnorm", "admin", "t-fixup", "resi-dual"}) {
    add("iwslt14", scheme, 6, kIwsltPaper);
    add("iwslt14", scheme, 12, kIwsltPaper);
  }
  for (const char* scheme : {"pre-ln", "post-ln", "dlcl", "t-fixup", "deepnorm", "admin", "b2t"}) {
    add("wmt14", scheme, 6, kWmtTakase);
    add("wmt14", scheme, 18, kWmtTakaseDeep);
  }
  add("wmt14", "resi-dual", 6, kWmtPaper);
  add("wmt14", "resi-dual", 18, kWmtPaper);
  add("opus100", "pre-ln", 18, kOpusPaper);
  add("opus100", "post-ln", 18, kOpusPaper);
  add("opus100", "deepnorm", 100, kOpusPaper);
  add("opus100", "resi-dual", 18, kOpusPaper);
  return rows;
}

// Table 8, and the authors' configurations.
std::vector<Row> other_rows() {
  std::vector<Row> rows;
  for (const std::string scheme : {"post-ln", "pre-ln", "resi-dual"}) {
    for (const int64_t layers : {6, 12}) {
      const std::string file = "iwslt14-" + scheme + (layers == 6 ? "" : "-12");
      Published published = kIwsltPaper;
      rows.push_back({file + "-no-warmup", scheme, layers, published, ScheduleKind::inverse_sqrt,
                      published.peak});
      published.warmup = 0;
      rows.push_back({file + "-linear", scheme, layers, published, ScheduleKind::linear});
    }
  }
  rows.push_back({"iwslt14-resi-dual-reference", "resi-dual", 6, kIwsltReference});
  rows.push_back({"iwslt14-resi-dual-12-reference", "resi-dual", 12, kIwsltReference});
  rows.push_back({"wmt14-resi-dual-reference", "resi-dual", 6, kWmtReference});
  rows.push_back({"wmt14-resi-dual-18-reference", "resi-dual", 18, kWmtReference});
  rows.push_back({"opus100-resi-dual-18-reference", "resi-dual", 18, kOpusReference});
  return rows;
}

class PublishedRow : public testing::TestWithParam<Row> {};

TEST_P(PublishedRow, HasThePublishedNumbers) {
  const Row& row = GetParam();
  const Published& p = row.published;
  const TrainConfig c = recipe(row.file);
  EXPECT_EQ(c.model.residual.name, row.scheme);
  EXPECT_EQ(c.model.encoder_layers, row.layers);
  EXPECT_EQ(c.model.decoder_layers, row.layers);
  EXPECT_EQ(c.model.width, p.width);
  EXPECT_EQ(c.model.inner, p.inner);
  EXPECT_EQ(c.model.heads, p.heads);
  EXPECT_EQ(c.dropout.residual, p.dropout);
  EXPECT_EQ(c.dropout.attention, p.attention);
  EXPECT_EQ(c.dropout.activation, p.activation);
  EXPECT_EQ(c.schedule.kind, row.schedule);
  EXPECT_EQ(c.schedule.peak, p.peak);
  EXPECT_EQ(c.schedule.warmup, p.warmup);
  EXPECT_EQ(c.schedule.warmup_init, row.first_rate);
  EXPECT_EQ(c.optimizer.weight_decay, p.weight_decay);
  EXPECT_EQ(c.optimizer.clip_norm, p.clip_norm);
  EXPECT_EQ(c.optimizer.beta1, 0.9);
  EXPECT_EQ(c.optimizer.beta2, 0.98);
  EXPECT_EQ(c.optimizer.epsilon, 1e-8);
  EXPECT_EQ(c.optimizer.form, AdamForm::fairseq);
  EXPECT_EQ(c.loss.label_smoothing, 0.1);
  EXPECT_EQ(c.loss.smoothing, p.smoothing);
  EXPECT_EQ(c.train.max_updates, p.updates);
  EXPECT_EQ(c.batch.max_tokens * c.batch.update_frequency, p.tokens);
  const bool opus = row.file.starts_with("opus100");
  EXPECT_EQ(c.model.sharing, opus ? model::Sharing::target : model::Sharing::all);
  // As trained, whatever the precision.
  EXPECT_EQ(schemes::options_of<schemes::ResiDual>(resolve(c).model.residual).eta,
            opus && row.scheme == "resi-dual" ? 0.05 : 1);
}

std::string name_of(const testing::TestParamInfo<Row>& row) {
  std::string name = row.param.file;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tables, PublishedRow, testing::ValuesIn(table_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Others, PublishedRow, testing::ValuesIn(other_rows()), name_of);

TEST(Recipes, AreNoOthersThanThePublishedOnesAndTheSmallOnes) {
  std::set<std::string> expected = {"multi30k-resi-dual",  "multi30k-pre-ln", "multi30k-post-ln",
                                    "language-model",      "masked-model",    "quickstart",
                                    "language-model-today"};
  for (const auto& row : table_rows()) expected.insert(row.file);
  for (const auto& row : other_rows()) expected.insert(row.file);
  EXPECT_EQ(training_recipes(), expected);
}

// What the authors' configurations say beyond the tables.
TEST(Recipes, FollowTheAuthorsConfigurations) {
  EXPECT_EQ(recipe("iwslt14-resi-dual-reference").validate.patience, 20);
  EXPECT_EQ(recipe("iwslt14-resi-dual-reference").validate.metric, ValidationMetric::bleu);
  EXPECT_EQ(recipe("wmt14-resi-dual-reference").train.precision, TrainingPrecision::fp16);
  EXPECT_EQ(recipe("wmt14-resi-dual-reference").checkpoint.keep_epochs, 10);
  EXPECT_EQ(recipe("wmt14-resi-dual-reference").validate.metric, ValidationMetric::loss);
  EXPECT_TRUE(recipe("wmt14-resi-dual-reference").validate.bleu);
  EXPECT_FALSE(recipe("wmt14-b2t").validate.bleu);
  const TrainConfig opus = recipe("opus100-resi-dual-18-reference");
  EXPECT_EQ(opus.loss_scale.initial, 8);
  EXPECT_EQ(opus.loss_scale.window, (1 << 14) / opus.batch.update_frequency);
  EXPECT_EQ(opus.train.seed, 1379);
  EXPECT_EQ(opus.batch.seed, 1379);
  EXPECT_EQ(opus.model.max_positions, 256);
  EXPECT_EQ(opus.batch.last_temperature, 5);
}

}  // namespace
}  // namespace residual::run
