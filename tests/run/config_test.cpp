#include "run/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "support/error_of.h"

namespace residual::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TrainConfig valid() {
  TrainConfig config;
  config.data.prepared = "prepared";
  return config;
}

std::string error_of(const TrainConfig& config) {
  return residual::test::error_of([&] { check(config); });
}

TEST(TrainConfig, ReadsBackWhatItWrites) {
  TrainConfig config = valid();
  config.schedule.kind = ScheduleKind::t_fixup;
  config.optimizer.epsilon = 1e-9;
  config.model.residual.name = "admin";
  const std::string text = to_toml(config);
  TrainConfig read;
  read_toml(text, "text", [&](ConfigVisitor& visit) { fields(visit, read); });
  EXPECT_EQ(to_toml(read), text);
}

TEST(TrainConfig, ExplainsEveryKey) {
  std::istringstream lines(explain_config<TrainConfig>());
  std::string before;
  for (std::string line; std::getline(lines, line); before = line) {
    const bool is_key = line.find(" = ") != std::string::npos && !line.starts_with("#");
    EXPECT_TRUE(!is_key || (before.starts_with("# ") && before.size() > 4)) << line;
  }
}

TEST(TrainConfig, ImpossibleCombinationsAreRefused) {
  EXPECT_EQ(error_of(valid()), "");
  const auto refuses = [](auto change, const char* text) {
    TrainConfig config = valid();
    change(config);
    EXPECT_THAT(error_of(config), HasSubstr(text));
  };
  refuses([](auto& c) { c.data.prepared.clear(); }, "data.prepared: is empty");
  refuses([](auto& c) { c.train.max_updates = 0; }, "would never end");
  refuses([](auto& c) { c.schedule.warmup = 0; }, "schedule.warmup_init = 0.0005");
  refuses([](auto& c) { c.train.precision = TrainingPrecision::fp16; }, "fp16 needs a CUDA device");
  refuses([](auto& c) { c.train.device = "gpu"; }, "expected cpu, cuda or cuda:N");
  refuses([](auto& c) { c.model.heads = 7; }, "is not divisible by 7 heads");
  refuses([](auto& c) { c.model.max_positions = 100; }, "must not exceed model.max_positions");
  refuses(
      [](auto& c) {
        c.schedule.kind = ScheduleKind::linear;
        c.train.max_updates = 100;
      },
      "not more than the 4000 of the warm-up");
  refuses([](auto& c) { c.validate = {.every_updates = 0, .every_epochs = 0, .patience = 3}; },
          "validation is off");
  refuses([](auto& c) { c.schedule.warmup_init = 1e-3; },
          "schedule.warmup_init: 0.001 is more than schedule.peak = 0.0005");
  refuses([](auto& c) { c.schedule = {.kind = ScheduleKind::cosine, .end = 1e-3}; },
          "schedule.end: 0.001 is more than schedule.peak = 0.0005");
  refuses([](auto& c) { c.batch.last_temperature = 5; }, "would never be used");
  refuses([](auto& c) { c.batch.annealing_epochs = 5; }, "batch.temperature would not move");
  refuses(
      [](auto& c) {
        c.model.kind = model::Kind::language;
        c.validate.metric = ValidationMetric::bleu;
      },
      "BLEU needs a translation model");
}

TEST(TrainConfig, SchedulesMayHaveWhatTheyDoNotUse) {
  TrainConfig config = valid();
  config.schedule = {.kind = ScheduleKind::constant, .peak = 1e-30, .warmup = 0, .end = 1};
  EXPECT_EQ(error_of(config), "");
  config.schedule = {.kind = ScheduleKind::t_fixup, .warmup_init = 1};
  EXPECT_EQ(error_of(config), "");
  config.schedule = {.warmup_init = config.schedule.peak};  // no warm-up
  EXPECT_EQ(error_of(config), "");
}

TEST(TrainConfig, AWarmUpThatDoesNotEndIsDoubted) {
  TrainConfig config = valid();
  EXPECT_EQ(doubt_about(config), "");
  config.train.max_updates = 4000;
  EXPECT_THAT(doubt_about(config), HasSubstr("will not reach its peak"));
  config.schedule.warmup_init = config.schedule.peak;
  EXPECT_EQ(doubt_about(config), "");
  config.schedule = {.kind = ScheduleKind::t_fixup};
  EXPECT_EQ(doubt_about(config), "");
}

TEST(TrainConfig, ResolvingFillsInWhatIsLeftOpen) {
  TrainConfig config = valid();
  config.schedule.kind = ScheduleKind::cosine;
  const TrainConfig resolved = resolve(config);
  EXPECT_EQ(resolved.train.workers, available_cores());
  EXPECT_EQ(resolved.schedule.total, config.train.max_updates);
  EXPECT_EQ(to_toml(resolve(resolved)), to_toml(resolved));
}

TEST(TrainConfig, ATemperatureStaysUnlessItIsToMove) {
  TrainConfig config = valid();
  config.batch.temperature = 5;
  EXPECT_NO_THROW(check(config));
  EXPECT_EQ(batch_options(config.batch).temperature.at(1), 5);
  config.batch.last_temperature = 1;
  config.batch.annealing_epochs = 2;
  EXPECT_NO_THROW(check(config));
  EXPECT_EQ(batch_options(config.batch).temperature.at(3), 1);
}

TEST(Differences, AreThoseThatMakeItAnotherRun) {
  const TrainConfig before = resolve(valid());
  TrainConfig now = valid();  // unresolved, as a recipe gives it
  now.train.max_updates = 50;
  now.checkpoint.every_updates = 7;
  now.log.every_updates = 7;
  now.data.prepared = "elsewhere";
  EXPECT_THAT(differences(before, now), IsEmpty());

  now.optimizer.beta2 = 0.999;
  now.model.width = 256;
  const auto found = differences(before, now);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "model.width");
  EXPECT_EQ(found[1].key, "optimizer.beta2");
  EXPECT_EQ(found[1].before, "0.98");
  EXPECT_EQ(found[1].now, "0.999");
}

TEST(Differences, BetweenSchemesAreTheNameAndOptionsOffTheirDefaults) {
  TrainConfig before = valid();
  apply_settings<TrainConfig>(std::vector<std::string>{"model.residual.eta=0.05"}, before);
  before = resolve(before);
  TrainConfig now = valid();
  const auto keys = [&](const std::vector<std::string>& settings) {
    apply_settings<TrainConfig>(settings, now);
    std::vector<std::string> all;
    for (const auto& d : differences(before, now)) all.push_back(d.key + " = " + d.now);
    return all;
  };
  EXPECT_THAT(keys({"model.residual.name=post-ln"}),
              ElementsAre("model.residual.name = \"post-ln\""));
  EXPECT_THAT(keys({"model.residual.name=deepnorm", "model.residual.alpha=2"}),
              ElementsAre("model.residual.alpha = 2.0", "model.residual.name = \"deepnorm\"",
                          "model.residual.variant = \"paper\""));
}

TEST(Differences, OfTheTotalCountWhereTheScheduleEnds) {
  TrainConfig now = valid();
  now.train.max_updates = 0;
  now.train.max_epochs = 2;
  const TrainConfig by_epochs = resolve(now);
  now.train.max_updates = 15;
  EXPECT_THAT(differences(by_epochs, now), IsEmpty());

  now.train.max_updates = 5000;
  now.schedule.kind = ScheduleKind::linear;
  const TrainConfig linear = resolve(now);
  now.train.max_updates = 9000;
  EXPECT_THAT(differences(linear, now), IsEmpty());  // it was 5000, and stays so
  now.schedule.total = 9000;
  const auto found = differences(linear, now);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, "schedule.total");
}

}  // namespace
}  // namespace residual::run
