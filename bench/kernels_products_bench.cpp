// Compares our matrix products with oneDNN's and OpenBLAS's, on one thread, at the shapes of
// decoding.
//
//   kernels_bench --benchmark_filter=/256x256/
//
// A line is NAME/OUTxIN/ROWS; GFLOP/s counts a multiply-add as two, GB/s the stored weights.

#include <benchmark/benchmark.h>
#include <cblas.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/matrix.h"

namespace residual::kernels {
namespace {

struct Shape {
  int out, in, rows;
};

std::vector<float> random_floats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(Random(1).uniform(i) - 0.5);
  return values;
}

// Normally distributed rows, as norms make them: int8 on AVX2 depends on the distribution.
std::vector<float> random_rows(size_t count) {
  std::vector<float> values(count);
  constexpr int kTerms = 12;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < kTerms; ++j) {
      values[i] += static_cast<float>(Random(2).uniform(kTerms * i + j) - 0.5);
    }
  }
  return values;
}

struct Data {
  explicit Data(const Shape& s)
      : weight(random_floats(size_t{1} * s.out * s.in)),
        bias(random_floats(s.out)),
        x(random_rows(size_t{1} * s.rows * s.in)),
        y(size_t{1} * s.rows * s.out) {}

  std::vector<float> weight, bias, x, y;
};

void count(benchmark::State& state, const Shape& s, double weight_bytes) {
  const double products = 1.0 * s.out * s.in;
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * products * s.rows, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * products * weight_bytes,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void multiply(benchmark::State& state, const Shape& s, Data& d, const PackedMatrix& matrix,
              double weight_bytes) {
  for (auto _ : state) {
    matrix.multiply({.x = d.x.data(), .rows = s.rows, .y = d.y.data()});
    benchmark::DoNotOptimize(d.y.data());
    benchmark::ClobberMemory();
  }
  count(state, s, weight_bytes);
}

void ours(benchmark::State& state, Shape s, Precision precision, double weight_bytes) {
  Data d(s);
  multiply(state, s, d, {d.weight.data(), d.bias.data(), s.out, s.in, precision}, weight_bytes);
}

// Aligned to a cache line, as in a model file.
template <class T>
std::shared_ptr<const T> aligned(const std::vector<T>& values) {
  const std::shared_ptr<T> copy(
      static_cast<T*>(std::aligned_alloc(kernels::kCacheLine, values.size() * sizeof(T))),
      std::free);
  std::ranges::copy(values, copy.get());
  return copy;
}

void unpacked(benchmark::State& state, Shape s) {
  Data d(s);
  multiply(state, s, d, PackedMatrix::unpacked(aligned(d.weight), d.bias.data(), s.out, s.in), 4);
}

void unpacked_int8(benchmark::State& state, Shape s) {
  if (!PackedMatrix::fits_unpacked(s.out, s.in, Precision::int8)) {
    return state.SkipWithError("int8 weights must be packed on this CPU");
  }
  Data d(s);
  std::vector<int8_t> weight(d.weight.size());
  std::vector<float> scales(s.out);
  kernels::quantize(d.weight.data(), s.out, s.in, weight.data(), scales.data());
  multiply(state, s, d,
           PackedMatrix::unpacked(aligned(weight), scales.data(), d.bias.data(), s.out, s.in), 1);
}

// oneDNN's primitive with weights in whichever layout it prefers, and a bias.
void one_dnn(benchmark::State& state, Shape s, dnnl::memory::data_type type) {
  using dnnl::memory;
  Data d(s);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const bool integer = type == memory::data_type::s8;
  const memory::desc x({s.rows, s.in}, integer ? memory::data_type::u8 : type,
                       memory::format_tag::ab);
  const memory::desc w({s.in, s.out}, type, memory::format_tag::any);
  const memory::desc b({1, s.out}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc y({s.rows, s.out}, memory::data_type::f32, memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  if (integer) attributes.set_output_scales(2, std::vector<float>(s.out, 0.01F));
  const dnnl::matmul::primitive_desc description({x, w, b, y}, attributes, engine);
  const dnnl::matmul matmul(description);
  memory xm(x, engine), wm(description.weights_desc(), engine), bm(b, engine, d.bias.data()),
      ym(y, engine, d.y.data());
  const memory source({{s.in, s.out}, memory::data_type::f32, memory::format_tag::ba}, engine,
                      d.weight.data());
  dnnl::reorder(source, wm).execute(stream, const_cast<memory&>(source), wm);
  for (auto _ : state) {
    matmul.execute(
        stream,
        {{DNNL_ARG_SRC, xm}, {DNNL_ARG_WEIGHTS, wm}, {DNNL_ARG_BIAS, bm}, {DNNL_ARG_DST, ym}});
    stream.wait();
    benchmark::ClobberMemory();
  }
  count(state, s, integer ? 1 : 4);
}

void open_blas(benchmark::State& state, Shape s) {
  Data d(s);
  openblas_set_num_threads(1);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s.rows, s.out, s.in, 1, d.x.data(), s.in,
                d.weight.data(), s.in, 0, d.y.data(), s.out);
    benchmark::ClobberMemory();
  }
  count(state, s, 4);
}

void add_shape(const Shape& s) {
  const std::string at =
      "/" + std::to_string(s.out) + "x" + std::to_string(s.in) + "/" + std::to_string(s.rows);
  using benchmark::RegisterBenchmark;
  using Type = dnnl::memory::data_type;
  RegisterBenchmark(("float32" + at).c_str(), ours, s, Precision::float32, 4);
  RegisterBenchmark(("unpacked" + at).c_str(), unpacked, s);
  RegisterBenchmark(("one_dnn_float32" + at).c_str(), one_dnn, s, Type::f32);
  RegisterBenchmark(("open_blas_float32" + at).c_str(), open_blas, s);
  RegisterBenchmark(("float16" + at).c_str(), ours, s, Precision::float16, 2);
  RegisterBenchmark(("int16" + at).c_str(), ours, s, Precision::int16, 2);
  RegisterBenchmark(("int8" + at).c_str(), ours, s, Precision::int8, 1);
  RegisterBenchmark(("unpacked_int8" + at).c_str(), unpacked_int8, s);
  RegisterBenchmark(("one_dnn_int8" + at).c_str(), one_dnn, s, Type::s8);
}

const int kRegistered = [] {
  constexpr int kShapes[][2] = {{256, 256}, {768, 256},  {1024, 256},  {256, 1024},  {10000, 256},
                                {512, 512}, {2048, 512}, {32000, 512}, {16000, 2048}};
  for (const auto& [out, in] : kShapes) {
    for (const int rows : {1, 5, 32, 160, 768}) add_shape({.out = out, .in = in, .rows = rows});
  }
  return 0;
}();

}  // namespace
}  // namespace residual::kernels
