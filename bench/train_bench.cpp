// Measures the speed of training: target tokens per second of whole updates, the share of time
// outside matrix products, page faults and peak memory. The upper limit is the same products alone,
// with each worker on its own core.
//
//   train_bench --model iwslt                       all of them: iwslt, iwslt-12, base, small
//   train_bench --schemes all --ops fused,reference --threads 1,2 --updates 10
//   train_bench --model small --at-least 1.05       fails unless fused is 1.05 times as fast
// The variants take turns, one update each, so that disturbances of the machine affect all alike;
// the median is reported. Peak memory is measured in a separate process.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
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
#include "training_kernels/product.h"

namespace residual {
namespace {

struct Options {
  std::string model = "iwslt";
  std::vector<std::string> schemes = {"resi-dual"};
  std::vector<std::string> ops = {"fused", "reference"};
  std::vector<int> threads = {available_cores()};
  double at_least = 0;  // minimum speed-up over reference
  bool recompute = false;
  int updates = 5;
  int sentences = 170;
  int length = 24;  // of source and target, </s> included
  bool memory = true;
  int64_t pass_tokens = 1024;
};

run::TrainConfig config_of(const Options& options, const std::string& scheme, int threads) {
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
  c.model.residual.name = scheme;
  c.dropout = {.residual = 0.3, .attention = 0.1, .activation = 0.1};
  c.batch.pass_tokens = options.pass_tokens;
  c.train.workers = threads;
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

// Computes forward, input gradient and weight gradient of every product in one thread.
void run_products(const std::vector<Product>& all) {
  kernels::use_one_thread();
  constexpr int64_t kRows = 512;  // of the widest products, as in training
  for (const auto& p : all) {
    const int64_t chunk = p.out > 4096 ? std::min(p.rows, kRows / 2) : p.rows;
    static thread_local std::vector<float> x, w, y;
    x.resize(std::max<size_t>(x.size(), chunk * p.in));
    w.resize(std::max<size_t>(w.size(), p.out * p.in));
    y.resize(std::max<size_t>(y.size(), chunk * p.out));
    for (int64_t n = 0; n < p.count * p.rows; n += chunk) {
      const auto mx = kernels::matrix(x.data(), chunk, p.in);
      const auto my = kernels::matrix(y.data(), chunk, p.out);
      const kernels::Matrix<const float> cx{x.data(), chunk, p.in, p.in},
          cw{w.data(), p.out, p.in, p.in}, cy{y.data(), chunk, p.out, p.out};
      kernels::product(cx, cw, my);
      kernels::input_gradient(cy, cw, mx);
      kernels::weight_gradient(cy, cx, kernels::matrix(w.data(), p.out, p.in));
    }
  }
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int64_t page_faults() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

struct Variant {
  std::string scheme, ops;
  run::TrainConfig config;
  std::unique_ptr<train::Learner> learner;
  std::vector<double> times, faults;
  int64_t update = 0;

  void step(const data::Batch& batch) {
    ops::set_mode(ops == "fused" ? ops::Mode::fused : ops::Mode::reference);
    learner->update(std::span(&batch, 1), {.number = ++update, .learning_rate = 1e-5});
  }
  void measure(const data::Batch& batch) {
    const int64_t before = page_faults();
    times.push_back(seconds([&] { step(batch); }));
    faults.push_back(static_cast<double>(page_faults() - before));
  }
};

Variant make_variant(const Options& options, const std::string& scheme, const std::string& ops,
                     int threads) {
  Variant v{.scheme = scheme, .ops = ops, .config = config_of(options, scheme, threads)};
  v.learner = std::make_unique<train::Learner>(v.config);
  return v;
}

// Peak memory in megabytes of a process that runs a few updates.
double peak_of(const Options& options, const std::string& scheme, const std::string& ops,
               int threads) {
  if (!options.memory) return 0;
  const pid_t child = fork();
  require(child >= 0, "cannot fork");
  if (child == 0) {
    Variant v = make_variant(options, scheme, ops, threads);
    const data::Batch batch = random_batch(options, v.config.model.source_vocabulary);
    for (int i = 0; i < 3; ++i) v.step(batch);
    _exit(0);
  }
  struct rusage usage {};
  int status = 0;
  wait4(child, &status, 0, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;
}

// Runs all products of an update, with one thread per worker and the same passes as training.
void run_limit(const Options& options, const model::Config& m, int64_t tokens, int workers) {
  const int64_t own = tokens / workers;
  const int64_t rows = options.pass_tokens > 0 ? std::min(options.pass_tokens, own) : own;
  const auto pass = products(m, rows, rows);
  parallel_for(workers, 1, [&](int64_t, int64_t) {
    for (int64_t done = 0; done < own; done += rows) run_products(pass);
  });
}

double best(const std::vector<double>& times) { return *std::ranges::min_element(times); }

// The speed-up of the fused operators over the reference ones, by the best update of each.
double least_ratio(const std::vector<Variant>& variants) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& fused : variants) {
    for (const auto& other : variants) {
      if (fused.ops != "fused" || other.ops != "reference" || fused.scheme != other.scheme)
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
  for (const auto& scheme : options.schemes) {
    for (const auto& ops : options.ops) memory.push_back(peak_of(options, scheme, ops, threads));
  }
  std::vector<Variant> variants;
  for (const auto& scheme : options.schemes) {
    for (const auto& ops : options.ops) {
      variants.push_back(make_variant(options, scheme, ops, threads));
    }
  }
  const model::Config& m = variants[0].config.model;
  const data::Batch batch = random_batch(options, m.source_vocabulary);
  const auto tokens = static_cast<double>(batch.target.size());
  const double work = flops(products(m, batch.target.size(), batch.target.size()));

  std::vector<double> limit;
  const auto all_products = [&] { run_limit(options, m, batch.target.size(), threads); };
  all_products();
  for (auto& v : variants) v.step(batch);
  for (int i = 0; i < options.updates; ++i) {
    limit.push_back(seconds(all_products));
    for (auto& v : variants) v.measure(batch);
  }
  const double alone = median(limit);
  fmt::print("{}: {} target tokens per update, {} threads, {:.1f} MFLOP of products per token\n",
             options.model, tokens, threads, work / 1e6 / tokens);
  fmt::print("{:<12} {:<10} {:>9} {:>9} {:>14} {:>10} {:>11} {:>8}\n", "scheme", "ops", "tokens/s",
             "GFLOP/s", "step/products", "outside %", "faults/step", "peak MB");
  fmt::print("{:<12} {:<10} {:>9.0f} {:>9.1f} {:>14.2f} {:>10}\n", "products", "alone",
             tokens / alone, work / alone / 1e9, 1.0, 0);
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant& v = variants[i];
    const double time = median(v.times);
    fmt::print("{:<12} {:<10} {:>9.0f} {:>9.1f} {:>14.2f} {:>10.0f} {:>11.0f} {:>8.0f}\n", v.scheme,
               v.ops, tokens / time, work / time / 1e9, time / alone, 100 * (1 - alone / time),
               median(v.faults), memory[i]);
  }
  std::fflush(stdout);
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
  app.add_option("--updates", options.updates, "timed updates of each variant");
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
