// Measures the peak performance of the CPU, and the kernels other than matrix products at the sizes
// of one decoding step: width 256, 4 heads, 24 positions, 10,000 tokens.

#include <benchmark/benchmark.h>
#include <omp.h>

#include <cstdlib>
#include <vector>

#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/matrix.h"
#include "kernels/rows.h"
#include "kernels/vocabulary.h"

namespace residual::kernels {
namespace {

constexpr int kWidth = 256;
constexpr int kPositions = 24;
constexpr Heads kHeads = {.count = 4, .width = 64};

std::vector<float> random_floats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(Random(1).uniform(i) - 0.5);
  return values;
}

typedef float Vector __attribute__((vector_size(64)));

// Independent chains of fused multiply-adds in registers.
[[gnu::target("avx512f"), gnu::noinline]] void fma_chains(int64_t steps, Vector& out) {
  Vector sum[8] = {};
  const Vector x = out;
  for (int64_t k = 0; k < steps; ++k) {
#pragma GCC unroll 8
    for (Vector& s : sum) asm volatile("vfmadd231ps %1, %1, %0" : "+v"(s) : "v"(x));
  }
#pragma GCC unroll 8
  for (const Vector& s : sum) out += s;
}

// Reads all of [begin, end), a multiple of 512 bytes.
[[gnu::target("avx512f"), gnu::noinline]] void read_all(const Vector* begin, const Vector* end) {
  for (; begin != end; begin += 8) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) asm volatile("vmovups %0, %%zmm0" : : "m"(begin[i]) : "xmm0");
  }
}

bool has_avx512(benchmark::State& state) {
  if (__builtin_cpu_supports("avx512f")) return true;
  state.SkipWithError("needs AVX-512");
  return false;
}

void fma_peak(benchmark::State& state) {
  if (!has_avx512(state)) return;
  constexpr int kSteps = 1000;
  Vector out = {};
  for (auto _ : state) fma_chains(kSteps, out);
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * kSteps * 8 * 16 * 2, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(fma_peak);

void read_memory(benchmark::State& state) {
  if (!has_avx512(state)) return;
  const std::vector<Vector> data(state.range(0) / sizeof(Vector));
  for (auto _ : state) read_all(data.data(), data.data() + data.size());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_memory)->Arg(16 << 10)->Arg(256 << 10)->Arg(8 << 20)->Arg(64 << 20);
// Each of two threads has its own data: measures the total of two cores.
BENCHMARK(read_memory)->Arg(64 << 20)->Threads(2)->UseRealTime();

void layer_norm_rows(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const auto x = random_floats(rows * kWidth), f = random_floats(rows * kWidth);
  const auto weight = random_floats(kWidth);
  std::vector<float> y(x.size()), d(x.size());
  for (auto _ : state) {
    add_both({.weight = weight.data(), .bias = weight.data()}, x.data(), d.data(), f.data(), 1.0F,
             rows, kWidth, y.data(), d.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(layer_norm_rows)->Arg(1)->Arg(5)->Arg(160);

void cross_attention(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  const auto q = random_floats(rows * kWidth), v = random_floats(kPositions * kWidth);
  std::vector<float> memory(shared_memory_size(kHeads, kPositions)), out(q.size());
  fill_shared_memory(kHeads, v.data(), v.data(), kWidth, kPositions, memory.data());
  for (auto _ : state) {
    attend_shared({.heads = kHeads,
                   .scale = 0.125F,
                   .queries = q.data(),
                   .query_stride = kWidth,
                   .rows = rows,
                   .memory = memory.data(),
                   .positions = kPositions,
                   .out = out.data(),
                   .out_stride = kWidth});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(cross_attention)->Arg(1)->Arg(5)->Arg(24);

void shared_memory(benchmark::State& state) {
  const auto k = random_floats(kPositions * kWidth), v = random_floats(kPositions * kWidth);
  std::vector<float> memory(shared_memory_size(kHeads, kPositions));
  for (auto _ : state) {
    fill_shared_memory(kHeads, k.data(), v.data(), kWidth, kPositions, memory.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(shared_memory);

void cached_attention(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  const auto q = random_floats(rows * kWidth),
             cache = random_floats(rows * kPositions * kWidth * 2);
  std::vector<int32_t> slots(rows * kPositions), positions(rows, kPositions);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < kPositions; ++j) slots[i * kPositions + j] = j * rows + i;
  }
  std::vector<float> out(q.size());
  for (auto _ : state) {
    attend_cached({.heads = kHeads,
                   .scale = 0.125F,
                   .queries = q.data(),
                   .query_stride = kWidth,
                   .rows = rows,
                   .cache = cache.data(),
                   .cache_stride = 2 * kWidth,
                   .slots = slots.data(),
                   .slot_stride = kPositions,
                   .positions = positions.data(),
                   .out = out.data(),
                   .out_stride = kWidth});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(cached_attention)->Arg(1)->Arg(5)->Arg(160);

void best_tokens(benchmark::State& state) {
  constexpr int kBest = 10;
  const int64_t vocabulary = state.range(0);
  const auto logits = random_floats(vocabulary);
  Scored best[kBest];
  for (auto _ : state) {
    benchmark::DoNotOptimize(best_of_row(logits.data(), vocabulary, kBest, best));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(best_tokens)->Arg(10000)->Arg(32000);

// Packs float32 weights into allocated memory: the cost that loading adds to reading the file.
void packing(benchmark::State& state, Precision precision) {
  constexpr int kOut = 2048, kIn = 512;
  const auto weight = random_floats(kOut * kIn);
  const PackedMatrix first(weight.data(), nullptr, kOut, kIn, precision);
  const Memory memory(
      static_cast<std::byte*>(std::aligned_alloc(kCacheLine, first.packed().size())), std::free);
  for (auto _ : state) {
    const PackedMatrix packed(weight.data(), nullptr, kOut, kIn, precision, memory);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kOut * kIn * int64_t{sizeof(float)});
}
BENCHMARK_CAPTURE(packing, float32, Precision::float32);
BENCHMARK_CAPTURE(packing, float16, Precision::float16);
BENCHMARK_CAPTURE(packing, int16, Precision::int16);
BENCHMARK_CAPTURE(packing, int8, Precision::int8);

}  // namespace
}  // namespace residual::kernels

int main(int argc, char** argv) {
  omp_set_num_threads(1);  // oneDNN's
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
