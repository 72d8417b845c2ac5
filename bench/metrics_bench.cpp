// Measures lines per second of each metric on synthetic sentences: metrics_bench

#include <benchmark/benchmark.h>

#include "base/random.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/significance.h"
#include "metrics/ter.h"

namespace residual::metrics {
namespace {

constexpr size_t kLines = 2000;

struct Corpus {
  Lines hypotheses;
  References references;
};

// Sentences of 5 to 34 words; a hypothesis drops, replaces or moves some words of its reference.
Corpus make_corpus() {
  const Random random(1);
  uint64_t at = 0;
  const auto word = [&] {
    std::string text;
    for (uint64_t n = 2 + random.below(at++, 8); n > 0; --n) {
      text += static_cast<char>('a' + random.below(at++, 26) % 7);
    }
    return text;
  };
  const auto join = [](const std::vector<std::string>& words) {
    std::string line;
    for (const auto& w : words) line += w + " ";
    return line + ".";
  };
  Corpus corpus{{}, References(1)};
  for (size_t i = 0; i < kLines; ++i) {
    std::vector<std::string> words(5 + random.below(at++, 30));
    for (auto& w : words) w = word();
    corpus.references[0].push_back(join(words));
    for (size_t k = words.size() / 5; k > 0; --k) words[random.below(at++, words.size())] = word();
    const size_t moved = random.below(at++, words.size());
    const std::string taken = words[moved];
    words.erase(words.begin() + static_cast<ptrdiff_t>(moved));
    words.insert(words.begin() + static_cast<ptrdiff_t>(random.below(at++, words.size() + 1)),
                 taken);
    corpus.hypotheses.push_back(join(words));
  }
  return corpus;
}

const Corpus& corpus() {
  static const Corpus instance = make_corpus();
  return instance;
}

template <class Made>
void statistics_of(benchmark::State& state) {
  const Made metric{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(metric.statistics(corpus().hypotheses, corpus().references).sum());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kLines));
}

void paired_bootstrap(benchmark::State& state) {
  const Bleu metric;
  const Statistics rows = metric.statistics(corpus().hypotheses, corpus().references);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bootstrap_scores(metric, rows, 1000, kDefaultSeed));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kLines) * 1000);
}

BENCHMARK(statistics_of<Bleu>)->Name("bleu")->UseRealTime();
BENCHMARK(statistics_of<Chrf>)->Name("chrf")->UseRealTime();
BENCHMARK(statistics_of<Ter>)->Name("ter")->UseRealTime();
BENCHMARK(paired_bootstrap)->UseRealTime();

}  // namespace
}  // namespace residual::metrics

BENCHMARK_MAIN();
