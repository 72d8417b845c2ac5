// Measures, on five million synthetic pairs, the time to open a corpus, to lay out an epoch and to
// assemble batches, and the memory of an epoch per pair.

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/batcher.h"

namespace residual::data {
namespace {

constexpr int64_t kPairs = 5'000'000;

// Lengths like those of sub-word news text, shorter: log-normal with median 13.
int64_t length(const Random& random, uint64_t position) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform(2 * position)));
  const double normal = radius * std::cos(6.283185307179586 * random.uniform(2 * position + 1));
  return std::clamp<int64_t>(std::llround(13 * std::exp(0.5 * normal)), 1, 200);
}

class Synthetic {
 public:
  Synthetic() {
    std::string name = (fs::temp_directory_path() / "residual-bench-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    const Random random(1);
    const std::vector<int32_t> ids(200, 7);
    CorpusWriter writer(path(), {});
    for (uint64_t i = 0; i < kPairs; ++i) {
      const auto side = [&](uint64_t at) {
        return std::span(ids).first(static_cast<size_t>(length(random, at)));
      };
      writer.add(side(2 * i), side(2 * i + 1), i + 1);
    }
    writer.commit();
  }
  ~Synthetic() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  fs::path path() const { return directory_ / "train.corpus"; }

 private:
  fs::path directory_;
};

const fs::path& corpus_path() {
  static const Synthetic synthetic;
  static const fs::path path = synthetic.path();
  return path;
}

// Private memory: pages of the mapped file can be dropped at any time and do not count.
double anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

void Open(benchmark::State& state) {
  const fs::path path = corpus_path();
  for (auto _ : state) benchmark::DoNotOptimize(Corpus::open(path));
}
BENCHMARK(Open)->Unit(benchmark::kMicrosecond);

void Verify(benchmark::State& state) {
  const Corpus corpus = Corpus::open(corpus_path());
  for (auto _ : state) corpus.verify();
}
BENCHMARK(Verify)->Unit(benchmark::kMillisecond);

BatchOptions options(const benchmark::State& state) {
  return {.composition = state.range(0) == 0 ? Composition::residual : Composition::fairseq};
}

void LayOutEpoch(benchmark::State& state) {
  const Corpus corpus = Corpus::open(corpus_path());
  const double before = anonymous_bytes();
  for (auto _ : state) {
    Batcher batcher({{.corpus = &corpus}}, options(state));
    benchmark::DoNotOptimize(batcher.batches_in_epoch(1));
    state.counters["bytes_per_pair"] = (anonymous_bytes() - before) / kPairs;
  }
  state.SetItemsProcessed(state.iterations() * kPairs);
}
BENCHMARK(LayOutEpoch)->ArgName("fairseq")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void AssembleBatches(benchmark::State& state) {
  const Corpus corpus = Corpus::open(corpus_path());
  Batcher batcher({{.corpus = &corpus}}, options(state));
  double tokens = 0;
  batcher.position();
  for (auto _ : state) {
    const Batch batch = batcher.next();
    tokens += static_cast<double>(batch.target.size());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["tokens"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate);
}
BENCHMARK(AssembleBatches)->ArgName("fairseq")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace residual::data

BENCHMARK_MAIN();
