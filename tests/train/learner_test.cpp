#include "train/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/mode.h"
#include "run/corpora.h"
#include "support/fairseq_fixture.h"
#include "support/tiny_run.h"
#include "train/schedule.h"

namespace residual::train {
namespace {

// The fixture's padded ids as a batch.
data::Batch batch_of(const test::FairseqFixture& fixture) {
  data::Batch batch{.source_offsets = {0}, .target_offsets = {0}};
  const auto pack = [&](const char* name, std::vector<int32_t>& ids,
                        std::vector<int32_t>& offsets) {
    const Tensor padded = fixture.tensor(name);
    for (int64_t s = 0; s < padded.size(0); ++s) {
      for (int64_t i = 0; i < padded.size(1); ++i) {
        const auto id = padded[s][i].item<int32_t>();
        if (id != text::Vocabulary::kPad) ids.push_back(id);
      }
      offsets.push_back(static_cast<int32_t>(ids.size()));
    }
  };
  pack("batch.source", batch.source, batch.source_offsets);
  pack("batch.target", batch.target, batch.target_offsets);
  for (size_t s = 0; s + 1 < batch.source_offsets.size(); ++s) {
    batch.pairs.push_back(static_cast<int64_t>(s));
  }
  return batch;
}

std::vector<float> packed(const std::vector<Tensor>& tensors) {
  std::vector<float> all;
  for (const Tensor& t : tensors) {
    const Tensor flat = t.contiguous();
    all.insert(all.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return all;
}

// The settings of tests/fixtures/fairseq's thirty updates.
run::TrainConfig fairseq_settings(const model::Config& model) {
  run::TrainConfig config;
  config.model = model;
  config.dropout = {.residual = 0, .attention = 0, .activation = 0};
  config.optimizer.weight_decay = 1e-4;
  config.schedule = {.peak = 5e-3, .warmup = 10, .warmup_init = 1e-7};
  config.train.workers = 1;
  return config;
}

// Keys' biases shift all of a query's scores alike: their gradient is zero but for rounding, which
// Adam makes as large as any other. They may go anywhere.
bool is_key_bias(const model::Parameter& parameter, int64_t element) {
  if (parameter.shape.size() != 1) return false;
  int64_t end = 0;
  for (const auto& part : parameter.parts) {
    end += part.rows;
    if (element < end) return part.role == schemes::Role::key;
  }
  return false;
}

void expect_values(const nn::Parameters& parameters, const std::vector<Tensor>& wanted) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor got = parameters[i].detach().flatten(), want = wanted[i].flatten();
    for (int64_t j = 0; j < want.numel(); ++j) {
      if (is_key_bias(parameters.list()[i], j)) continue;
      difference += std::pow(got[j].item<double>() - want[j].item<double>(), 2);
      size += std::pow(want[j].item<double>(), 2);
    }
  }
  EXPECT_LT(std::sqrt(difference / size), 1e-4);
}

class Fairseq : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Fairseq, ThirtyUpdatesFollowTheAuthorsCode) {
  const auto [name, workers] = GetParam();
  const test::FairseqFixture fixture(name);
  run::TrainConfig config = fairseq_settings(fixture.config());
  config.train.workers = workers;
  Learner learner(config);
  const std::vector<float> values = packed(fixture.parameters("param."));
  const std::vector<float> zeros(values.size());
  learner.restore({.values = values, .m = zeros, .v = zeros});

  const Tensor losses = fixture.tensor("train.loss_per_token").to(at::kDouble);
  const Tensor rates = fixture.tensor("train.lr").to(at::kDouble);
  const std::vector<data::Batch> batches{batch_of(fixture)};
  for (int64_t t = 0; t < losses.numel(); ++t) {
    const double rate = learning_rate(config.schedule, t);
    EXPECT_NEAR(rate, rates[t].item<double>(), 1e-9) << t;
    const auto result = learner.update(batches, {.number = t + 1, .learning_rate = rate});
    EXPECT_NEAR(result.sums.loss / static_cast<double>(result.sums.tokens),
                losses[t].item<double>(), 1e-4)
        << t;
  }
  expect_values(learner.parameters(), fixture.parameters("train.param."));
}

INSTANTIATE_TEST_SUITE_P(Schemes, Fairseq,
                         testing::Combine(testing::Values("post-ln", "pre-ln", "resi-dual",
                                                          "resi-dual-eta"),
                                          testing::Values(1, 3)));

class Learning : public testing::Test {
 protected:
  static const test::ReverseTask& task() {
    static const test::ReverseTask made;
    return made;
  }
  static run::TrainConfig config() {
    return run::resolve(run::Corpora(task().config()).with_vocabularies(task().config()));
  }
  static std::vector<data::Batch> batches(const run::TrainConfig& config, int count) {
    const run::Corpora corpora(config);
    data::Batcher batcher = corpora.batcher(config);
    std::vector<data::Batch> taken;
    for (int i = 0; i < count; ++i) taken.push_back(batcher.next());
    return taken;
  }
};

constexpr run::TrainingPrecision kPrecisions[] = {run::TrainingPrecision::fp32,
                                                  run::TrainingPrecision::bf16};

TEST_F(Learning, DoesNotDependOnTheNumberOfThreads) {
  for (const run::TrainingPrecision precision : kPrecisions) {
    run::TrainConfig c = config();
    c.train.workers = 3;
    c.train.precision = precision;
    const auto some = batches(c, 2);
    std::vector<run::Checkpoint> ends;
    for (const int threads : {1, 2, 5}) {
      set_thread_count(threads);
      Learner learner(c);
      for (int64_t n = 1; n <= 3; ++n) learner.update(some, {.number = n, .learning_rate = 1e-3});
      ends.push_back(learner.checkpoint());
    }
    set_thread_count(available_cores());
    for (const auto& end : ends) {
      EXPECT_EQ(end.values, ends[0].values);
      EXPECT_EQ(end.v, ends[0].v);
    }
  }
}

TEST_F(Learning, GradientsOfBatchesAddUpToThoseOfOneBatch) {
  run::TrainConfig c = config();
  c.dropout = {.residual = 0, .attention = 0, .activation = 0};
  c.train.workers = 1;
  const auto two = batches(c, 2);
  data::Batch one = two[0];
  for (int64_t s = 0; s < two[1].size(); ++s) {
    const auto append = [s](const auto& ids, const auto& offsets, auto& to, auto& to_offsets) {
      to.insert(to.end(), ids.begin() + offsets[s], ids.begin() + offsets[s + 1]);
      to_offsets.push_back(static_cast<int32_t>(to.size()));
    };
    append(two[1].source, two[1].source_offsets, one.source, one.source_offsets);
    append(two[1].target, two[1].target_offsets, one.target, one.target_offsets);
    one.pairs.push_back(two[1].pairs[s]);
  }
  Learner apart(c), together(c);
  const UpdateStep step{.number = 1, .learning_rate = 1e-3};
  const auto a = apart.update(two, step);
  const auto b = together.update(std::vector{one}, step);
  EXPECT_EQ(a.sums.tokens, b.sums.tokens);
  EXPECT_NEAR(a.sums.loss, b.sums.loss, 1e-5 * b.sums.loss);
  EXPECT_NEAR(a.sums.gradient_norm, b.sums.gradient_norm, 1e-5 * b.sums.gradient_norm);
}

TEST_F(Learning, ScalingTheLossChangesNothingButRounding) {
  const run::TrainConfig c = config();
  const auto some = batches(c, 1);
  Learner plain(c), scaled(c);
  plain.update(some, {.number = 1, .learning_rate = 1e-3});
  scaled.update(some, {.number = 1, .learning_rate = 1e-3, .loss_scale = 1024});
  EXPECT_EQ(plain.model_values(), scaled.model_values());  // a power of two: exact
}

// With the fused operators and with LibTorch's.
TEST_F(Learning, Bfloat16StaysNearFloat32) {
  for (const run::Operators ops : {run::Operators::fused, run::Operators::reference}) {
    run::TrainConfig c = config();
    c.train.ops = ops;
    const auto some = batches(c, 1);
    Learner exact(c);
    c.train.precision = run::TrainingPrecision::bf16;
    Learner rounded(c);
    const UpdateStep step{.number = 1, .learning_rate = 1e-3};
    const auto a = exact.update(some, step), b = rounded.update(some, step);
    EXPECT_TRUE(b.finite);
    EXPECT_NE(a.sums.loss, b.sums.loss);
    EXPECT_NEAR(b.sums.loss, a.sums.loss, 0.002 * a.sums.loss);
    EXPECT_NEAR(b.sums.gradient_norm, a.sums.gradient_norm, 0.02 * a.sums.gradient_norm);
  }
  ops::set_mode(ops::Mode::fused);
}

TEST_F(Learning, IsTheSameWhenBlocksAreRecomputed) {
  for (const run::TrainingPrecision precision : kPrecisions) {
    run::TrainConfig c = config();
    c.train.precision = precision;
    const auto some = batches(c, 2);
    std::vector<run::Checkpoint> ends;
    for (const bool recompute : {false, true}) {
      c.train.recompute = recompute;
      Learner learner(c);
      for (int64_t n = 1; n <= 3; ++n) learner.update(some, {.number = n, .learning_rate = 1e-3});
      ends.push_back(learner.checkpoint());
    }
    EXPECT_EQ(ends[0].values, ends[1].values);
    EXPECT_EQ(ends[0].v, ends[1].v);
  }
}

TEST_F(Learning, GoesByTheOperatorsOfTheConfiguration) {
  run::TrainConfig c = config();
  const auto some = batches(c, 1);
  const UpdateStep step{.number = 1, .learning_rate = 1e-3};
  const double fused = Learner(c).update(some, step).sums.gradient_norm;
  c.train.ops = run::Operators::reference;
  Learner learner(c);
  EXPECT_EQ(ops::mode(), ops::Mode::reference);
  EXPECT_NEAR(learner.update(some, step).sums.gradient_norm, fused, 1e-4 * fused);
  ops::set_mode(ops::Mode::fused);
}

TEST_F(Learning, StartsNoThreadsBesidesItsWorkers) {
  const auto threads = [] {
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  };
  run::TrainConfig c = config();
  c.train.workers = 3;
  set_thread_count(3);
  const auto some = batches(c, 2);
  parallel_for(3, 1, [](int64_t, int64_t) {});  // the pool itself
  const auto before = threads();
  for (const run::Operators ops : {run::Operators::fused, run::Operators::reference}) {
    c.train.ops = ops;
    Learner learner(c);
    for (int64_t n = 1; n <= 3; ++n) learner.update(some, {.number = n});
    EXPECT_EQ(threads(), before);
  }
  set_thread_count(available_cores());
  ops::set_mode(ops::Mode::fused);
}

TEST_F(Learning, NothingChangesWhenALossIsNotFinite) {
  const run::TrainConfig c = config();
  const auto some = batches(c, 1);
  Learner learner(c);
  run::Checkpoint broken = learner.checkpoint();
  broken.values[0] = std::numeric_limits<float>::infinity();
  learner.restore(broken);
  EXPECT_FALSE(learner.update(some, {.number = 1, .learning_rate = 1e-3}).finite);
  EXPECT_EQ(learner.model_values(), broken.values);
  EXPECT_EQ(learner.checkpoint().v, broken.v);
}

TEST_F(Learning, ValidatesTheAverageOfTheParametersAndGoesOnWithThemselves) {
  run::TrainConfig c = config();
  const auto some = batches(c, 1);
  Learner plain(c);
  c.optimizer.average_decay = 0.9;
  Learner averaging(c);
  std::vector<float> average;
  for (int64_t n = 1; n <= 4; ++n) {
    plain.update(some, {.number = n, .learning_rate = 1e-2});
    averaging.update(some, {.number = n, .learning_rate = 1e-2});
    averaging.evaluate(some);
    const auto values = plain.model_values();
    if (n == 1) average = values;
    const auto rate = static_cast<float>(average_rate(c.optimizer, n));
    for (size_t i = 0; i < values.size(); ++i) average[i] += rate * (values[i] - average[i]);
  }
  const run::Checkpoint end = averaging.checkpoint();
  EXPECT_EQ(end.values, plain.model_values());
  EXPECT_THAT(averaging.model_values(), testing::Pointwise(testing::FloatNear(1e-6F), average));

  run::Checkpoint of_average = plain.checkpoint();
  of_average.values = end.average;
  plain.restore(of_average);
  EXPECT_EQ(averaging.evaluate(some).loss, plain.evaluate(some).loss);
  EXPECT_THROW(plain.restore(end), Error);
  EXPECT_THROW(averaging.restore(of_average), Error);
}

TEST(ReferenceAdam, IsTheFlatOne) {
  for (const run::AdamForm form : {run::AdamForm::fairseq, run::AdamForm::textbook}) {
    run::OptimizerConfig config{.form = form, .weight_decay = 0.01, .average_decay = 0.3};
    const Tensor start = at::rand({100}), gradient = at::rand({100});
    Tensor a = start.clone(), m = at::zeros({100}), v = at::zeros({100}), b = start.clone();
    Tensor average = start.clone();
    const Slices whole(100);
    Optimizer optimizer(config, whole, start);
    for (int64_t t = 1; t <= 5; ++t) {
      const AdamStep step{.learning_rate = 0.1, .gradient_scale = 0.5, .number = t};
      reference::adam(config, step, a, gradient, m, v);
      reference::average(config, t, a, average);
      optimizer.step(b, gradient, step);
    }
    EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(average, optimizer.average(), 1e-5, 1e-6));
  }
}

// Models of one stack.
class Kinds : public Learning, public testing::WithParamInterface<model::Kind> {};

TEST_P(Kinds, Learn) {
  run::TrainConfig c = task().config();
  c.model.kind = GetParam();
  c.dropout = {.residual = 0, .attention = 0, .activation = 0};
  c = run::resolve(run::Corpora(c).with_vocabularies(c));
  const auto some = batches(c, 1);
  Learner learner(c);
  const double before = learner.evaluate(some).loss;
  for (int64_t n = 1; n <= 30; ++n) learner.update(some, {.number = n, .learning_rate = 3e-3});
  EXPECT_LT(learner.evaluate(some).loss, 0.9 * before);
}

INSTANTIATE_TEST_SUITE_P(All, Kinds,
                         testing::Values(model::Kind::translation, model::Kind::language,
                                         model::Kind::masked));

}  // namespace
}  // namespace residual::train
