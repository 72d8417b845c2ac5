// Measures learning and applying BPE and counting a vocabulary, on generated text of Zipfian words.
// One thread, except that learning counts words on all threads.

#include <benchmark/benchmark.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "text/bpe.h"
#include "text/bpe_learner.h"
#include "text/vocabulary.h"

namespace residual::text {
namespace {

constexpr size_t kTextBytes = 8 << 20;
constexpr uint64_t kWords = 50'000;

// Words of syllables, so that merges have something to find; frequent ones are short.
std::vector<std::string> generated_words() {
  constexpr std::string_view kConsonants = "bdfghklmnprstvwz", kVowels = "aeiou";
  const Random random(1);
  std::vector<std::string> words;
  uint64_t position = 0;
  for (uint64_t rank = 0; rank < kWords; ++rank) {
    std::string& word = words.emplace_back();
    const uint64_t syllables = 1 + random.below(position++, 2 + rank % 4);
    for (uint64_t i = 0; i < syllables; ++i) {
      word += kConsonants[random.below(position++, kConsonants.size())];
      word += kVowels[random.below(position++, kVowels.size())];
      if (random.below(position++, 3) == 0) {
        word += kConsonants[random.below(position++, kConsonants.size())];
      }
    }
  }
  return words;
}

// The word of rank r occurs about 1/r as often as the first. The text is the same every time.
const std::string& generated_text() {
  static const std::string text = [] {
    const std::vector<std::string> words = generated_words();
    const Random random(2);
    std::string out;
    for (uint64_t position = 0; out.size() < kTextBytes; ++position) {
      const double rank = std::pow(static_cast<double>(kWords), random.uniform(position)) - 1;
      out += words[static_cast<size_t>(rank)];
      out += position % 12 == 11 ? '\n' : ' ';
    }
    return out + '\n';
  }();
  return text;
}

const LineBlock& generated_block() {
  static const LineBlock block{.bytes = generated_text()};
  return block;
}

WordCounts generated_counts() {
  WordCounts counts;
  for_each_line(generated_block(),
                [&](std::string_view line, uint64_t) { count_bpe_words(line, counts); });
  return counts;
}

const std::vector<BpeMerge>& generated_merges() {
  static const std::vector<BpeMerge> merges = learn_bpe(generated_counts(), {.merges = 10000});
  return merges;
}

void BM_LearnBpe(benchmark::State& state) {
  const fs::path file = fs::temp_directory_path() / "residual-bpe-bench.txt";
  replace_file(file, generated_text());
  const std::vector<fs::path> files{file};
  for (auto _ : state) {
    const WordCounts counts = count_words(files, Invalid::refuse, count_bpe_words);
    benchmark::DoNotOptimize(learn_bpe(counts, {.merges = state.range(0)}));
  }
  fs::remove(file);
}
BENCHMARK(BM_LearnBpe)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond)->UseRealTime();

template <class Body>
void measure(benchmark::State& state, Body&& body) {
  for (auto _ : state) {
    std::string out;
    for_each_line(generated_block(), [&](std::string_view line, uint64_t) { body(line, out); });
    benchmark::DoNotOptimize(out);
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(generated_block().bytes.size()));
}

void BM_ApplyBpe(benchmark::State& state) {
  const auto bpe = std::make_shared<Bpe>(format_codes(generated_merges()), "codes");
  measure(state, bpe_transform(bpe));
}
BENCHMARK(BM_ApplyBpe)->Unit(benchmark::kMillisecond);

// No cache: every word is segmented again.
void BM_ApplyBpeDropout(benchmark::State& state) {
  const auto bpe =
      std::make_shared<Bpe>(format_codes(generated_merges()), "codes", BpeOptions{.dropout = 0.1});
  measure(state, bpe_transform(bpe));
}
BENCHMARK(BM_ApplyBpeDropout)->Unit(benchmark::kMillisecond);

void BM_UndoBpe(benchmark::State& state) {
  measure(state, [](std::string_view line, std::string& out) { undo_bpe(line, "@@", out); });
}
BENCHMARK(BM_UndoBpe)->Unit(benchmark::kMillisecond);

void BM_VocabularyEncode(benchmark::State& state) {
  VocabularyBuilder builder;
  builder.merge(generated_counts());
  const Vocabulary vocabulary = builder.finish();
  std::vector<int32_t> ids;
  measure(state, [&](std::string_view line, std::string&) {
    ids.clear();
    vocabulary.encode(line, ids);
    benchmark::DoNotOptimize(ids.data());
  });
}
BENCHMARK(BM_VocabularyEncode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace residual::text
