#include "train/device_check.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "schemes/registry.h"
#include "train/learner.h"

namespace residual::train {
namespace {

// float32 sums in another order. The parameters are compared by their norm: Adam makes a gradient
// that is zero but for rounding as large as any other.
constexpr double kLossTolerance = 1e-4, kGradientTolerance = 1e-3, kLaterTolerance = 1e-2;
constexpr double kHalfTolerance = 0.05;
constexpr int64_t kUpdates = 5;

run::TrainConfig config_of(const std::string& scheme, const std::string& device) {
  run::TrainConfig c;
  c.model.encoder_layers = c.model.decoder_layers = 2;
  c.model.width = 32;
  c.model.inner = 64;
  c.model.heads = 4;
  c.model.max_positions = 32;
  c.model.source_vocabulary = c.model.target_vocabulary = 40;
  c.model.residual.name = scheme;
  c.model.residual = schemes::resolve(c.model.residual);
  c.batch.max_tokens = 1024;
  c.train.workers = 1;
  c.train.device = device;
  c.train.ops = run::Operators::reference;
  return c;
}

data::Batch batch() {
  data::Batch made{.source_offsets = {0}, .target_offsets = {0}};
  for (int64_t pair = 0; pair < 16; ++pair) {
    const Random random(7, static_cast<uint64_t>(pair));
    const auto words = 3 + random.below(0, 12);
    for (uint64_t i = 1; i <= words; ++i) {
      made.source.push_back(static_cast<int32_t>(4 + random.below(2 * i, 36)));
      made.target.push_back(static_cast<int32_t>(4 + random.below(2 * i + 1, 36)));
    }
    for (auto* side : {&made.source, &made.target}) side->push_back(2);  // </s>
    made.source_offsets.push_back(static_cast<int32_t>(made.source.size()));
    made.target_offsets.push_back(static_cast<int32_t>(made.target.size()));
    made.pairs.push_back(pair);
  }
  return made;
}

struct Course {
  double first_loss = 0, last_loss = 0;
  Tensor gradient;  // of the first update
};

Course run(const run::TrainConfig& config) {
  const std::vector<data::Batch> batches = {batch()};
  Learner learner(config);
  learner.calibrate(batches[0]);
  Course course;
  for (int64_t number = 1; number <= kUpdates; ++number) {
    const run::Sums sums = learner.update(batches, {.number = number, .learning_rate = 1e-3}).sums;
    course.last_loss = sums.loss / static_cast<double>(sums.tokens);
    if (number > 1) continue;
    course.first_loss = course.last_loss;
    course.gradient = learner.parameters().gradients().to(at::kCPU).clone();
  }
  return course;
}

double difference(double a, double b) { return std::abs(a - b) / std::abs(b); }

DeviceCheck check_scheme(const std::string& scheme, const std::string& device) {
  const Course here = run(config_of(scheme, "cpu")), there = run(config_of(scheme, device));
  const double loss = difference(there.first_loss, here.first_loss);
  const double gradient =
      (there.gradient - here.gradient).norm().item<double>() / here.gradient.norm().item<double>();
  const double later = difference(there.last_loss, here.last_loss);
  return {.passed = loss < kLossTolerance && gradient < kGradientTolerance &&
                    later < kLaterTolerance,  // false if one is not a number
          .name = scheme,
          .found = fmt::format("differs from the CPU by {:.1e} (loss), {:.1e} (gradient), {:.1e} "
                               "(loss after {} updates)",
                               loss, gradient, later, kUpdates)};
}

DeviceCheck check_precision(run::TrainingPrecision precision, const std::string& device) {
  run::TrainConfig config = config_of(run::TrainConfig{}.model.residual.name, device);
  const Course exact = run(config);
  config.train.precision = precision;
  const Course rounded = run(config);
  const double loss = difference(rounded.first_loss, exact.first_loss);
  const double later = difference(rounded.last_loss, exact.last_loss);
  return {.passed = loss < kHalfTolerance && later < kHalfTolerance,
          .name = name_of(precision),
          .found = fmt::format("differs from fp32 by {:.1e} (loss), {:.1e} (after {} updates)",
                               loss, later, kUpdates)};
}

DeviceCheck guarded(const std::string& name, const std::function<DeviceCheck()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    const std::string what = error.what();
    return {.passed = false, .name = name, .found = what.substr(0, what.find('\n'))};
  }
}

}  // namespace

std::vector<DeviceCheck> check_device(const std::string& device) {
  const bool is_gpu = !device_of(device).is_cpu();  // throws first if there is none
  std::vector<DeviceCheck> checks;
  for (const auto& scheme : schemes::registry()) {
    const std::string name(scheme.name);
    checks.push_back(guarded(name, [&] { return check_scheme(name, device); }));
  }
  std::vector<run::TrainingPrecision> precisions = {run::TrainingPrecision::bf16};
  if (is_gpu) precisions.push_back(run::TrainingPrecision::fp16);
  for (const auto precision : precisions) {
    checks.push_back(
        guarded(name_of(precision), [&] { return check_precision(precision, device); }));
  }
  return checks;
}

}  // namespace residual::train
