// Measures tokenising, detokenising and normalising generated text on one thread, in MB of input
// per second.

#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <string_view>

#include "base/random.h"
#include "text/detokenizer.h"
#include "text/lines.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"

namespace residual::text {
namespace {

// Sentences of random words, including contractions, numbers, commas, hyphens and accents. The text
// is the same every time.
LineBlock generated_text(size_t bytes) {
  constexpr std::array<std::string_view, 24> kWords{
      "the",    "house",      "doesn't", "on",      "1,250",       "miles",  "of",    "Mr.",
      "river",  "well-known", "it's",    "said",    "\"perhaps\"", "Zürich", "and",   "café",
      "(here)", "people",     "U.S.",    "between", "3.5%",        "old,",   "where", "today:"};
  LineBlock block;
  const Random random(1);
  uint64_t position = 0;
  while (block.bytes.size() < bytes) {
    for (int i = 0; i < 14; ++i) {
      if (i > 0) block.bytes += ' ';
      block.bytes += kWords[random.bits(position++) % kWords.size()];
    }
    block.bytes += ".\n";
  }
  return block;
}

template <class Transform>
LineBlock transformed(const LineBlock& in, const Transform& transform) {
  LineBlock out;
  for_each_line(in, [&](std::string_view line, uint64_t) {
    transform(line, out.bytes);
    out.bytes += '\n';
  });
  return out;
}

template <class Transform>
void measure(benchmark::State& state, const LineBlock& text, const Transform& transform) {
  for (auto _ : state) benchmark::DoNotOptimize(transformed(text, transform));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.bytes.size()));
}

constexpr size_t kBytes = 4 << 20;

void BM_Tokenize(benchmark::State& state) {
  measure(state, generated_text(kBytes), Tokenizer({.aggressive = state.range(0) != 0}));
}
void BM_Detokenize(benchmark::State& state) {
  measure(state, transformed(generated_text(kBytes), Tokenizer({})), Detokenizer("en"));
}
void BM_NormalizePunctuation(benchmark::State& state) {
  measure(state, generated_text(kBytes), PunctuationNormalizer("en"));
}
void BM_RemoveNonPrinting(benchmark::State& state) {
  measure(state, generated_text(kBytes), remove_non_printing);
}
void BM_Lowercase(benchmark::State& state) { measure(state, generated_text(kBytes), lowercase); }

BENCHMARK(BM_Tokenize)->ArgName("aggressive")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Detokenize)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NormalizePunctuation)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RemoveNonPrinting)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Lowercase)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace residual::text
