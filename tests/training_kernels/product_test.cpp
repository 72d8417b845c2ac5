#include "training_kernels/product.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

// A matrix whose rows are `gap` elements further apart than they are long.
struct Strided {
  int64_t rows, columns, gap;
  uint64_t seed = 0;
  std::vector<float> values = random_floats(rows * (columns + gap), seed);

  int64_t stride() const { return columns + gap; }
  Matrix<const float> read() const { return {values.data(), rows, columns, stride()}; }
  Matrix<float> write() { return {values.data(), rows, columns, stride()}; }
  float at(int64_t i, int64_t j) const { return values[i * stride() + j]; }
};

// got = before + sum_k of term(i, j, k), and the gaps are as they were.
template <class Term>
void expect_sums(const Strided& got, const Strided& before, bool add, int64_t inner, Term term) {
  std::vector<double> want(before.values.begin(), before.values.end());
  for (int64_t i = 0; i < got.rows; ++i) {
    for (int64_t j = 0; j < got.columns; ++j) {
      double& sum = want[i * got.stride() + j];
      if (!add) sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += term(i, j, k);
    }
  }
  expect_close(got.values, want, 2e-5);
}

void expect_products(int64_t n, int64_t in, int64_t out, int64_t gap) {
  SCOPED_TRACE(testing::Message() << n << " rows, " << in << " to " << out << ", gap " << gap);
  const Strided x{n, in, gap, 1}, w{out, in, gap, 2}, dy{n, out, gap, 3};

  const Strided y_before{n, out, gap, 4};
  Strided y = y_before;
  product(x.read(), w.read(), y.write());
  expect_sums(y, y_before, /*add=*/false, in,
              [&](int64_t i, int64_t j, int64_t k) { return double{x.at(i, k)} * w.at(j, k); });

  const Strided dx_before{n, in, gap, 5};
  Strided dx = dx_before;
  input_gradient(dy.read(), w.read(), dx.write());
  expect_sums(dx, dx_before, /*add=*/false, out,
              [&](int64_t i, int64_t j, int64_t k) { return double{dy.at(i, k)} * w.at(k, j); });

  for (const bool add : {false, true}) {
    const Strided dw_before{out, in, gap, 6};
    Strided dw = dw_before;
    weight_gradient(dy.read(), x.read(), dw.write(), add);
    expect_sums(dw, dw_before, add, n,
                [&](int64_t i, int64_t j, int64_t k) { return double{dy.at(k, i)} * x.at(k, j); });
  }
}

TEST(Product, AgreesWithItsDefinitionWhateverTheStrides) {
  for (const int64_t gap : {0, 5}) {
    for (const int64_t n : {1, 3, 64}) {
      for (const int64_t width : {1, 7, 16, 17, 33, 64}) {
        expect_products(n, width, 17, gap);
        expect_products(n, 9, width, gap);
      }
    }
  }
}

TEST(Product, OfEmptyMatricesIsZero) {
  expect_products(0, 4, 5, 1);
  expect_products(3, 0, 5, 1);
  expect_products(3, 4, 0, 1);
}

}  // namespace
}  // namespace residual::kernels
