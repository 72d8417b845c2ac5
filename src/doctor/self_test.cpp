#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <span>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "decode/translator.h"
#include "doctor/check.h"
#include "kernels/matrix.h"
#include "model/parameters.h"

namespace residual::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::PackedMatrix;
using kernels::Precision;

constexpr const char* kReport =
    "this machine computes wrong results: test its memory (memtester), then rebuild without -march";

std::vector<float> random_numbers(size_t count, uint64_t stream) {
  std::vector<float> numbers(count);
  const Random random(7, stream);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(random.normal(i));
  return numbers;
}

// The largest difference from plain loops in double precision, relative to the largest element. No
// size is a multiple of a vector's width, so that the kernels' remainders are tested too.
double product_error(Precision precision) {
  constexpr int64_t kRows = 37, kIn = 203, kOut = 131;
  const auto x = random_numbers(kRows * kIn, 1), w = random_numbers(kOut * kIn, 2);
  std::vector<float> y(kRows * kOut);
  PackedMatrix(w.data(), nullptr, kOut, kIn, precision)
      .multiply({.x = x.data(), .rows = kRows, .y = y.data()});
  double difference = 0, largest = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t o = 0; o < kOut; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < kIn; ++i) sum += double{x[r * kIn + i]} * double{w[o * kIn + i]};
      difference = std::max(difference, std::abs(sum - double{y[r * kOut + o]}));
      largest = std::max(largest, std::abs(sum));
    }
  }
  return difference / largest;
}

// int8 rounds both operands to 1/127 of their largest element. For normally distributed numbers,
// the error stays below 3 % of the largest product.
Check check_product(const std::string& name, Precision precision, double tolerance) {
  return guarded(name, kReport, [&] {
    const double error = product_error(precision);
    require(error < tolerance, "differs from plain loops by {:.2g} of the largest element", error);
    return Check{.name = name, .found = "agrees with plain loops", .figures = {{"error", error}}};
  });
}

text::Vocabulary letters() {
  text::VocabularyBuilder builder;
  for (char c = 'a'; c <= 'z'; ++c) builder.add(std::string(1, c), 1);
  return builder.finish();
}

// An untrained model with random weights, as `residual train` would write it.
std::shared_ptr<const decode::Weights> made_up_model(int64_t symbols, Precision precision) {
  model::Config config;
  config.encoder_layers = config.decoder_layers = 2;
  config.width = 64;
  config.inner = 128;
  config.heads = 4;
  config.max_positions = 64;
  config.source_vocabulary = config.target_vocabulary = symbols;
  std::map<std::string, std::vector<float>> values;
  for (const auto& parameter : model::parameters(config)) {
    auto& numbers = values[parameter.name];
    numbers.resize(static_cast<size_t>(parameter.size()));
    model::initialise(parameter, config, /*seed=*/1, numbers);
  }
  return decode::copy_weights(config, {values.begin(), values.end()}, precision);
}

std::vector<std::string> sentences() {
  constexpr int kSentences = 40;
  std::vector<std::string> lines;
  const Random random(3);
  for (uint64_t i = 0; i < kSentences; ++i) {
    std::string line;
    for (uint64_t j = 0; j <= i % 12; ++j) {
      line += static_cast<char>('a' + random.below(i * 100 + j, 26));
      line += ' ';
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> translated(int threads, Precision precision) {
  const auto vocabulary = std::make_shared<const text::Vocabulary>(letters());
  decode::TranslatorOptions options;
  options.pieces = true;
  options.precision = precision;
  options.crew.threads = threads;
  decode::Translator translator({made_up_model(vocabulary->size(), precision)},
                                {.source_vocabulary = vocabulary, .target_vocabulary = vocabulary},
                                options);
  std::vector<std::string> out;
  for (const auto& each : translator.translate(sentences())) out.push_back(each.outputs[0].text);
  return out;
}

Check check_translation() {
  return guarded("translation", kReport, [] {
    const int threads = std::max(2, thread_count());
    for (const Precision precision : {Precision::float32, Precision::int8}) {
      require(translated(1, precision) == translated(threads, precision),
              "one thread and {} translate differently", threads);
    }
    return Check{.name = "translation",
                 .found = "one thread and several give the same, with fp32 and with int8",
                 .figures = {{"threads", threads}}};
  });
}

// Measures how often `body` runs per second on all threads, for about a quarter of a second.
double rate(const std::function<void()>& body) {
  const int threads = thread_count();
  const auto run = [&](int64_t times) {
    const auto start = Clock::now();
    parallel_for(threads, 1, [&](int64_t, int64_t) {
      for (int64_t i = 0; i < times; ++i) body();
    });
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  run(1);
  int64_t times = 1;
  double seconds = run(times);
  while (seconds < 0.1) seconds = run(times *= 2);
  seconds = std::min(seconds, run(times));
  return static_cast<double>(times * threads) / seconds;
}

double product_speed(Precision precision) {
  constexpr int64_t kRows = 64, kWidth = 512;
  const auto x = random_numbers(kRows * kWidth, 1), w = random_numbers(kWidth * kWidth, 2);
  const PackedMatrix matrix(w.data(), nullptr, kWidth, kWidth, precision);
  const double products = rate([&] {
    thread_local std::vector<float> y(kRows * kWidth);
    matrix.multiply({.x = x.data(), .rows = kRows, .y = y.data()});
  });
  return products * static_cast<double>(2 * kRows * kWidth * kWidth) / 1e9;
}

// Measures reading plus writing in GB/s, by a copy that exceeds the caches.
double memory_speed() {
  constexpr size_t kFloats = 16 << 20;
  const std::vector<float> from(kFloats, 1);
  std::vector<float> to(kFloats);
  constexpr int64_t kGrain = 1 << 18;
  const auto copy = [&] {
    const auto start = Clock::now();
    parallel_for(kFloats, kGrain, [&](int64_t begin, int64_t end) {
      std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
    });
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double best = copy();
  for (int i = 0; i < 5; ++i) best = std::min(best, copy());
  return 2.0 * kFloats * sizeof(float) / best / 1e9;
}

Check check_speed() {
  const double fp32 = product_speed(Precision::float32), int8 = product_speed(Precision::int8);
  const double memory = memory_speed();
  return {.name = "speed",
          .found = fmt::format("products {:.0f} GFLOP/s with fp32, {:.0f} GOP/s with int8; memory "
                               "{:.1f} GB/s; {} threads",
                               fp32, int8, memory, thread_count()),
          .figures = {{"fp32_gflops", fp32}, {"int8_gops", int8}, {"memory_gb_per_s", memory}}};
}

}  // namespace

std::vector<Check> self_test() {
  return {check_product("fp32 product", Precision::float32, 1e-5),
          check_product("int8 product", Precision::int8, 0.03), check_translation(), check_speed()};
}

}  // namespace residual::doctor
