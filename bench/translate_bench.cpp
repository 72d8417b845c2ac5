// Measures the speed of decoding: models with random weights, sources of 24 tokens, exactly 25
// target tokens. Each output line comes from a separate process, so that load time and peak memory
// are separate too. CPU time stands beside wall time: "busy" is the share of the threads' time that
// the machine gave them, and GFLOP/s are products per second of CPU time, to be compared with the
// peak of one core in the first line.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "decode/translator.h"
#include "fma_peak.h"
#include "kernels/instruction_set.h"
#include "model/export.h"
#include "random_model.h"

namespace residual {
namespace {

using Clock = std::chrono::steady_clock;
using decode::Precision;

constexpr int kSourceTokens = 24, kTargetTokens = 25;  // </s> included

const std::map<std::string, Precision> kPrecisions = {{"float32", Precision::float32},
                                                      {"packed", Precision::float32},
                                                      {"float16", Precision::float16},
                                                      {"int8", Precision::int8}};

struct Options {
  std::vector<std::string> models = {"small", "base"};
  std::vector<std::string> precisions = {"float32", "int8"};
  std::vector<std::string> schemes = {"resi-dual"};
  std::vector<int> beams = {1, 5}, batches = {1, 32, 0}, threads = {1, 2};
  bool one_by_one = false;
  double seconds = 3;
  fs::path directory;  // keeps the models; empty: a temporary directory
};

struct Case {
  std::string model, precision, scheme;
  int beam, batch, threads;
  bool one_by_one;
  double seconds;
};

model::Config config_of(const std::string& size, const std::string& scheme) {
  model::Config c;
  if (size == "small") {
    c.width = 256;
    c.inner = 1024;
    c.heads = 4;
    c.source_vocabulary = c.target_vocabulary = 10000;
  } else {
    require(size == "base", "--model: expected small or base, got \"{}\"", size);
    c.source_vocabulary = c.target_vocabulary = 32000;
  }
  c.residual.name = scheme;
  return c;
}

std::string random_line(uint64_t number) { return bench::random_line(number, kSourceTokens, 9000); }

// Multiply-adds of a sentence's matrix products, in GFLOP.
double products(const model::Config& c, int beam) {
  const auto d = static_cast<double>(c.width), inner = static_cast<double>(c.inner);
  const double feed_forward = 2 * d * inner;
  const double encoder = 6 * (4 * d * d + feed_forward) + 6 * 2 * d * d;  // with cross-attention
  const double decoder =
      6 * (6 * d * d + feed_forward) + d * static_cast<double>(c.target_vocabulary);
  return 2e-9 * (kSourceTokens * encoder + double{kTargetTokens} * beam * decoder);
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void measure(const fs::path& path, const Case& c) {
  decode::TranslatorOptions options;
  options.precision = kPrecisions.at(c.precision);
  options.pieces = true;
  options.search.beam = c.beam;
  options.search.min_length = kTargetTokens - 1;
  options.search.max_length_factor = 0;
  options.search.max_length_offset = kTargetTokens - 1;
  options.crew.threads = c.threads;
  options.crew.batch_sentences = c.batch;

  const auto start = Clock::now();
  decode::Translator translator({path}, options);
  const double load = since(start);
  const std::vector<std::string> one = {random_line(0)};
  translator.translate(one);
  const double first = since(start);
  // A batch of two: after it, the model is packed.
  translator.translate(std::vector<std::string>{random_line(0), random_line(0)});

  // Translate whole batches until the time is up.
  const int round = c.one_by_one ? 1 : c.threads * (c.batch > 0 ? c.batch : 64);
  uint64_t sentences = 0;
  const auto begin = Clock::now();
  const double cpu_begin = cpu_seconds();
  while (since(begin) < c.seconds) {
    std::vector<std::string> lines;
    for (int i = 0; i < (c.one_by_one ? 1 : 2 * round); ++i) {
      lines.push_back(random_line(++sentences));
    }
    translator.translate(lines);
  }
  const double wall = since(begin), cpu = cpu_seconds() - cpu_begin;
  const double rate = static_cast<double>(sentences) / wall;
  const double work = products(config_of(c.model, c.scheme), c.beam);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{:<6} {:<10} {:<8} {:>4} {:>5} {:>7} {:>11.1f} {:>9.0f} {:>8.0f} {:>8.0f} {:>7}"
      " {:>8.2f} {:>6.2f} {:>7.0f}\n",
      c.model, c.scheme, c.precision, c.beam, c.one_by_one ? "one" : std::to_string(c.batch),
      c.threads, rate, rate * kTargetTokens, load * 1e3, first * 1e3, usage.ru_maxrss / 1024,
      1e3 * cpu / static_cast<double>(sentences), cpu / wall / c.threads,
      work * static_cast<double>(sentences) / cpu);
  std::fflush(stdout);
}

void measure_apart(const fs::path& path, const Case& c) {
  const pid_t child = fork();
  if (child == 0) {
    measure(path, c);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  require(status == 0, "a measurement failed with status {}", status);
}

void run(const Options& o) {
  std::string work = o.directory.string();
  if (work.empty()) {
    work = (fs::temp_directory_path() / "translate_bench-XXXXXX").string();
    require(mkdtemp(work.data()) != nullptr, "{}: cannot be created", work);
  }
  fmt::print("kernels use {}; one core multiplies and adds {:.0f} GFLOP/s at most\n",
             kernels::instruction_set(), fma_peak());
  fmt::print(
      "{:<6} {:<10} {:<8} {:>4} {:>5} {:>7} {:>11} {:>9} {:>8} {:>8} {:>7} {:>8} {:>6} "
      "{:>7}\n",
      "model", "scheme", "weights", "beam", "batch", "threads", "sentences/s", "tokens/s",
      "load ms", "first ms", "MB", "CPU ms", "busy", "GFLOP/s");
  std::fflush(stdout);
  for (const auto& model : o.models) {
    for (const auto& scheme : o.schemes) {
      const fs::path path = fs::path(work) / (model + "-" + scheme);
      if (!fs::exists(path)) bench::write_model(path, config_of(model, scheme));
      const fs::path packed = path.string() + "-packed";
      if (!fs::exists(packed) && std::ranges::count(o.precisions, "packed") > 0) {
        const auto directory = model::Directory::open(path);
        model::write_directory(packed, directory.description(),
                               model::packed_tensors(directory).list, path);
      }
      for (const auto& precision : o.precisions)
        for (const int beam : o.beams)
          for (const int batch : o.batches)
            for (const int threads : o.threads) {
              measure_apart(
                  precision == "packed" ? packed : path,
                  {model, precision, scheme, beam, batch, threads, o.one_by_one, o.seconds});
            }
    }
  }
  if (o.directory.empty()) fs::remove_all(work);
}

}  // namespace
}  // namespace residual

int main(int argc, char** argv) {
  residual::Options options;
  CLI::App app("Measures the speed of decoding by model, precision, beam, batch and threads");
  app.add_option("--model", options.models, "small (256/1024/4, 10k), base (512/2048/8, 32k)");
  app.add_option("--precision", options.precisions,
                 "float32, packed (float32, mapped and used in place), float16, int8")
      ->check(CLI::IsMember(residual::kPrecisions));
  app.add_option("--scheme", options.schemes, "residual scheme");
  app.add_option("--beam", options.beams, "hypotheses per sentence");
  app.add_option("--batch", options.batches, "sentences in a thread's batch; 0: automatic");
  app.add_option("--threads", options.threads, "threads");
  app.add_flag("--one-by-one", options.one_by_one,
               "translate sentences one by one, each on all threads");
  app.add_option(
      "--directory", options.directory,
      "directory of models: existing ones are used, new ones are kept, as MODEL-SCHEME[-packed]");
  app.add_option("--seconds", options.seconds, "measuring time per line");
  CLI11_PARSE(app, argc, argv);
  try {
    residual::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "translate_bench: {}\n", error.what());
    return 1;
  }
}
