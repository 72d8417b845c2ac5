// Measures the speed of training: target tokens per second of whole updates beside the same matrix
// products alone, with each worker on its own core, which are the limit.
//
//   train_bench --model iwslt                       all of them: iwslt, iwslt-12, base, small
//   train_bench --ops fused --precisions fp32,bf16
//   train_bench --schemes all --ops fused,reference --threads 1,2 --rounds 10
//   train_bench --model small --at-least 1.05       fails unless fused is 1.05 times as fast
// All variants and their products run once in each round (turns.h); the figures are medians over
// the rounds, ratios those within a round. A ratio of a disturbed measurement is not printed. Peak
// memory is measured in a separate process.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "ops/mode.h"
#include "schemes/registry.h"
#include "train/learner.h"
#include "training_kernels/bf16_product.h"
#include "training_kernels/product.h"
#include "turns.h"

namespace residual {
namespace {

struct Options {
  std::string model = "iwslt";
  std::vector<std::string> schemes = {"resi-dual"};
  std::vector<std::string> ops = {"fused", "reference"};
  std::vector<std::string> precisions = {"fp32"};
  std::vector<int> threads = {available_cores()};
  double at_least = 0;  // minimum speed-up over reference
  bool recompute = false;
  int rounds = 7;
  int sentences = 170;
  int length = 24;  // of source and target, </s> included
  bool memory = true;
  int64_t pass_tokens = 1024;
};

// One way to train; the products alone of its precision are its limit.
struct Kind {
  std::string scheme, ops, precision;
};

run::TrainConfig config_of(const Options& options, const Kind& kind, int threads) {
  run::TrainConfig c;
  c.model.width = 256;
  c.model.inner = 1024;
  c.model.heads = 4;
  c.model.source_vocabulary = c.model.target_vocabulary = 10'000;
  if (options.model == "small") {
    c.model.encoder_layers = c.model.decoder_layers = 2;
    c.model.source_vocabulary = c.model.target_vocabulary = 2'000;
  }
  if (options.model == "iwslt-12") c.model.encoder_layers = c.model.decoder_layers = 12;
  if (options.model == "base") {
    c.model.width = 512;
    c.model.inner = 2048;
    c.model.heads = 8;
    c.model.source_vocabulary = c.model.target_vocabulary = 32'000;
  }
  c.model.residual.name = kind.scheme;
  c.dropout = {.residual = 0.3, .attention = 0.1, .activation = 0.1};
  c.batch.pass_tokens = options.pass_tokens;
  c.train.workers = threads;
  c.train.ops = kind.ops == "fused" ? run::Operators::fused : run::Operators::reference;
  c.train.precision =
      kind.precision == "bf16" ? run::TrainingPrecision::bf16 : run::TrainingPrecision::fp32;
  c.train.recompute = options.recompute;
  return run::resolve(c);
}

data::Batch random_batch(const Options& options, int64_t symbols) {
  data::Batch batch;
  const Random random(1);
  const auto fill = [&](std::vector<int32_t>& ids, std::vector<int32_t>& offsets, uint64_t at) {
    offsets = {0};
    for (int s = 0; s < options.sentences; ++s) {
      for (int i = 0; i + 1 < options.length; ++i) {
        ids.push_back(4 + static_cast<int32_t>(random.below(at++, symbols - 4)));
      }
      ids.push_back(2);
      offsets.push_back(static_cast<int32_t>(ids.size()));
    }
  };
  fill(batch.source, batch.source_offsets, 0);
  fill(batch.target, batch.target_offsets, 1'000'000);
  for (int s = 0; s < options.sentences; ++s) batch.pairs.push_back(s);
  return batch;
}

// One matrix of the model: the shape of its products and their number.
struct Product {
  int64_t rows, out, in;
  int64_t count;
};

// The linear layers of a step with the given numbers of source and target rows, without the small
// products inside attention.
std::vector<Product> products(const model::Config& m, int64_t source, int64_t target) {
  const int64_t d = m.width, e = m.encoder_layers, n = m.decoder_layers;
  return {{source, 3 * d, d, e},   {source, d, d, e},
          {source, m.inner, d, e}, {source, d, m.inner, e},
          {target, 3 * d, d, n},   {target, d, d, 3 * n},
          {source, 2 * d, d, n},   {target, m.inner, d, n},
          {target, d, m.inner, n}, {target, m.target_vocabulary, d, 1}};
}

double flops(const std::vector<Product>& all) {
  double sum = 0;
  for (const auto& p : all) sum += 6.0 * static_cast<double>(p.count * p.rows * p.out * p.in);
  return sum;
}

// The operands of products in one thread.
struct Operands {
  std::vector<float> x, w, y, result;

  // Computes forward, input gradient and weight gradient for p.rows rows, `rows` at a time.
  void run_fp32(const Product& p, int64_t rows) {
    for (int64_t n = 0; n < p.rows; n += rows) {
      const kernels::Matrix<const float> cx{x.data(), rows, p.in, p.in},
          cw{w.data(), p.out, p.in, p.in}, cy{y.data(), rows, p.out, p.out};
      kernels::product(cx, cw, kernels::matrix(result.data(), rows, p.out));
      kernels::input_gradient(cy, cw, kernels::matrix(result.data(), rows, p.in));
      kernels::weight_gradient(cy, cx, kernels::matrix(result.data(), p.out, p.in));
    }
  }

  // The same in bfloat16: x and y are stored so, w is rounded and packed.
  void run_bf16(const Product& p, int64_t rows) {
    const auto halves = [](const std::vector<float>& v) {
      return reinterpret_cast<const kernels::Bf16*>(v.data());
    };
    const kernels::Operand fw = kernels::operand(w.data(), p.out, p.in);
    const auto transposed = kernels::PackedFactor::of_transposed(fw);
    const auto packed = kernels::PackedFactor::of(fw);
    constexpr int64_t kChunk = 48;  // as in ops/linear_bf16.cpp
    for (int64_t n = 0; n < p.rows; n += rows) {
      const kernels::Operand hx = kernels::operand(halves(x), rows, p.in);
      const kernels::Operand hy = kernels::operand(halves(y), rows, p.out);
      for (int64_t i = 0; i < rows; i += kChunk) {
        const int64_t few = std::min(kChunk, rows - i);
        kernels::multiply(hx.part(i, few), transposed, nullptr,
                          kernels::matrix(result.data(), few, p.out));
        kernels::multiply(hy.part(i, few), packed, nullptr,
                          kernels::matrix(result.data(), few, p.in));
      }
      kernels::weight_gradient(hy, hx, kernels::matrix(result.data(), p.out, p.in), true);
    }
  }

  void run(const Product& p, bool bf16) {
    const int64_t rows = p.out > 4096 ? std::min<int64_t>(p.rows, 256) : p.rows;  // as in training
    const auto grow = [](std::vector<float>& v, int64_t size) {
      if (v.size() < static_cast<size_t>(size)) v.resize(size);
    };
    grow(x, rows * p.in);
    grow(w, p.out * p.in);
    grow(y, rows * p.out);
    grow(result, std::max({rows * p.in, rows * p.out, p.out * p.in}));
    for (int64_t i = 0; i < p.count; ++i) bf16 ? run_bf16(p, rows) : run_fp32(p, rows);
  }
};

// Computes every product in one thread.
void run_products(const std::vector<Product>& all, bool bf16) {
  kernels::use_one_thread();
  static thread_local Operands operands;
  for (const Product& p : all) operands.run(p, bf16);
}

int64_t page_faults() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

struct Variant {
  Kind kind;
  run::TrainConfig config;
  std::unique_ptr<train::Learner> learner;
  bench::Series times;
  std::vector<double> faults;
  int64_t update = 0;

  void step(const data::Batch& batch) {
    ops::set_mode(kind.ops == "fused" ? ops::Mode::fused : ops::Mode::reference);
    learner->update(std::span(&batch, 1), {.number = ++update, .learning_rate = 1e-5});
  }
  void measure(const data::Batch& batch) {
    const int64_t before = page_faults();
    times.samples.push_back(bench::measure([&] { step(batch); }));
    faults.push_back(static_cast<double>(page_faults() - before));
  }
};

Variant make_variant(const Options& options, const Kind& kind, int threads) {
  Variant v{.kind = kind, .config = config_of(options, kind, threads)};
  v.learner = std::make_unique<train::Learner>(v.config);
  v.times.threads = threads;
  return v;
}

// Peak memory in megabytes of a process that runs a few updates.
double peak_of(const Options& options, const Kind& kind, int threads) {
  if (!options.memory) return 0;
  const pid_t child = fork();
  require(child >= 0, "cannot fork");
  if (child == 0) {
    Variant v = make_variant(options, kind, threads);
    const data::Batch batch = random_batch(options, v.config.model.source_vocabulary);
    for (int i = 0; i < 3; ++i) v.step(batch);
    _exit(0);
  }
  struct rusage usage {};
  int status = 0;
  wait4(child, &status, 0, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;
}

// The products of an update alone, with one thread per worker and the same passes as training.
struct Limit {
  std::string precision;
  bench::Series times;

  void measure(const Options& options, const model::Config& m, int64_t tokens) {
    const int64_t own = tokens / times.threads;
    const int64_t rows = options.pass_tokens > 0 ? std::min(options.pass_tokens, own) : own;
    const auto pass = products(m, rows, rows);
    times.samples.push_back(bench::measure([&] {
      parallel_for(times.threads, 1, [&](int64_t, int64_t) {
        for (int64_t done = 0; done < own; done += rows) run_products(pass, precision == "bf16");
      });
    }));
  }
};

std::vector<Kind> kinds(const Options& options) {
  std::vector<Kind> all;
  for (const auto& scheme : options.schemes) {
    for (const auto& ops : options.ops) {
      for (const auto& precision : options.precisions) all.push_back({scheme, ops, precision});
    }
  }
  return all;
}

std::string text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : "disturbed";
}

struct Work {
  double tokens, flops;
};

void print_line(const Kind& kind, const bench::Series& times, const Work& work) {
  const double wall = times.wall();
  fmt::print("{:<18} {:<9} {:<5} {:>8.0f} {:>8.1f} {:>6.3f} {:>6.3f} {:>7.1f} {:>9}", kind.scheme,
             kind.ops, kind.precision, work.tokens / wall, work.flops / wall / 1e9, wall,
             times.cpu(), 100 * bench::spread(times.walls()),
             fmt::format("{}/{}", times.disturbances(), times.samples.size()));
}

void print(const std::vector<Limit>& limits, const std::vector<Variant>& variants,
           const std::vector<double>& memory, const Work& work) {
  fmt::print("{:<18} {:<9} {:<5} {:>8} {:>8} {:>6} {:>6} {:>7} {:>9} {:>13} {:>6} {:>11} {:>7}\n",
             "scheme", "ops", "", "tokens/s", "GFLOP/s", "wall s", "cpu s", "spread%", "disturbed",
             "step/products", "/first", "faults/step", "peak MB");
  for (const Limit& limit : limits) {
    print_line({"products", "alone", limit.precision}, limit.times, work);
    fmt::print(" {:>13} {:>6}\n", "", text(bench::ratio(limits[0].times, limit.times)));
  }
  bool marked = false;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant& v = variants[i];
    const auto limit = std::ranges::find(limits, v.kind.precision, &Limit::precision);
    const auto over = bench::ratio(v.times, limit->times);
    const bool impossible = over && *over < 1;
    marked |= impossible;
    print_line(v.kind, v.times, work);
    fmt::print(" {:>13} {:>6} {:>11.0f} {:>7.0f}\n", text(over) + (impossible ? "!" : ""),
               text(bench::ratio(variants[0].times, v.times)), bench::median(v.faults), memory[i]);
  }
  if (marked) {
    fmt::print("! faster than its products, which is impossible: the limit was measured wrongly\n");
  }
  fmt::print(
      "/first: times as fast as the first line of its kind. disturbed: no ratio, because "
      "threads lacked cores in half of the rounds or ratios scatter by more than {:.0f} %\n",
      100 * bench::kMostSpread);
  std::fflush(stdout);
}

double best(const bench::Series& times) { return std::ranges::min(times.walls()); }

// The speed-up of the fused operators over the reference ones, by the best update of each: other
// processes make an update slower, never faster.
double least_ratio(const std::vector<Variant>& variants) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& fused : variants) {
    for (const auto& other : variants) {
      if (fused.kind.ops != "fused" || other.kind.ops != "reference" ||
          fused.kind.scheme != other.kind.scheme || fused.kind.precision != other.kind.precision)
        continue;
      least = std::min(least, best(other.times) / best(fused.times));
    }
  }
  return least;
}

// Returns least_ratio() of the variants.
double run(const Options& options, int threads) {
  set_thread_count(threads);
  std::vector<double> memory;
  for (const Kind& kind : kinds(options)) memory.push_back(peak_of(options, kind, threads));
  std::vector<Variant> variants;
  for (const Kind& kind : kinds(options)) variants.push_back(make_variant(options, kind, threads));
  std::vector<Limit> limits;
  for (const auto& precision : options.precisions) limits.push_back({precision, {threads, {}}});

  const model::Config& m = variants[0].config.model;
  const data::Batch batch = random_batch(options, m.source_vocabulary);
  const auto tokens = static_cast<int64_t>(batch.target.size());
  for (auto& limit : limits) limit.measure(options, m, tokens);  // warms up
  for (auto& limit : limits) limit.times.samples.clear();
  for (auto& v : variants) v.step(batch);
  for (int i = 0; i < options.rounds; ++i) {
    for (auto& limit : limits) limit.measure(options, m, tokens);
    for (auto& v : variants) v.measure(batch);
  }
  const Work work{static_cast<double>(tokens), flops(products(m, tokens, tokens))};
  fmt::print(
      "{}: {} target tokens per update, {} threads, {:.1f} MFLOP of products per token, "
      "{} rounds\n",
      options.model, tokens, threads, work.flops / 1e6 / work.tokens, options.rounds);
  print(limits, variants, memory, work);
  return least_ratio(variants);
}

std::vector<std::string> all_schemes() {
  std::vector<std::string> names;
  for (const auto& entry : schemes::registry()) names.push_back(entry.name);
  return names;
}

int measure_all(Options options) {
  if (options.schemes == std::vector<std::string>{"all"}) options.schemes = all_schemes();
  int status = 0;
  for (const int threads : options.threads) {
    const double ratio = run(options, threads);
    if (options.at_least == 0) continue;
    fmt::print("fused is {:.2f} times as fast as reference; required: {}\n", ratio,
               options.at_least);
    if (ratio < options.at_least) status = 1;
  }
  return status;
}

}  // namespace
}  // namespace residual

int main(int argc, char** argv) {
  residual::keep_freed_memory();
  residual::Options options;
  CLI::App app("Measures the speed of training", "train_bench");
  app.add_option("--model", options.model,
                 "iwslt (E6D6 256), iwslt-12, base (512), small (E2D2 256, 2,000 symbols)")
      ->check(CLI::IsMember({"iwslt", "iwslt-12", "base", "small"}));
  app.add_option("--schemes", options.schemes, "residual schemes, or all")->delimiter(',');
  app.add_option("--ops", options.ops, "fused, reference")->delimiter(',');
  app.add_option("--precisions", options.precisions, "fp32, bf16")->delimiter(',');
  app.add_option("--rounds,--updates", options.rounds, "timed updates of each variant")
      ->check(CLI::PositiveNumber);
  app.add_option("--sentences", options.sentences, "sentences in a batch");
  app.add_option("--length", options.length, "tokens in each sentence");
  app.add_option("--pass-tokens", options.pass_tokens, "batch.pass_tokens");
  app.add_option("--threads", options.threads,
                 "numbers of workers, one thread each; measured one after another")
      ->delimiter(',');
  app.add_option("--at-least", options.at_least,
                 "fail unless the best update of fused is X times as fast as that of reference");
  app.add_flag("--recompute", options.recompute, "train.recompute");
  app.add_flag("!--no-memory", options.memory, "do not measure peak memory");
  CLI11_PARSE(app, argc, argv);
  return residual::measure_all(options);
}
