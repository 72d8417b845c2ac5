#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Rows);

constexpr int64_t kRows = 3;

struct Inputs {
  int64_t width;
  std::vector<float> x = random_floats(kRows * width, 1);
  std::vector<float> f = random_floats(kRows * width, 2);
  std::vector<float> d = random_floats(kRows * width, 3);
  std::vector<float> weight = random_floats(width, 4);
  std::vector<float> bias = random_floats(width, 5);

  Norm norm() const { return {.weight = weight.data(), .bias = bias.data()}; }
};

std::vector<double> exact_norm(const Inputs& in, const std::vector<double>& a) {
  std::vector<double> y(a.size());
  const int64_t n = in.width;
  for (int64_t row = 0; row < kRows; ++row) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < n; ++j) mean += a[row * n + j] / static_cast<double>(n);
    for (int64_t j = 0; j < n; ++j) {
      variance += std::pow(a[row * n + j] - mean, 2) / static_cast<double>(n);
    }
    for (int64_t j = 0; j < n; ++j) {
      y[row * n + j] =
          (a[row * n + j] - mean) / std::sqrt(variance + 1e-5) * in.weight[j] + in.bias[j];
    }
  }
  return y;
}

std::vector<double> sum(const std::vector<float>& x, double c, const std::vector<float>& f) {
  std::vector<double> y(x.begin(), x.end());
  for (size_t i = 0; i < y.size(); ++i) y[i] += c * f[i];
  return y;
}

TEST_P(Rows, NormsAgreeWithTheDefinition) {
  for (const int width : kSizes) {
    SCOPED_TRACE(width);
    const Inputs in{width};
    std::vector<float> y(in.x.size()), d(in.x.size());
    layer_norm(in.norm(), in.x.data(), kRows, width, y.data());
    expect_close(y, exact_norm(in, sum(in.x, 0, in.f)), 3e-6);

    add_layer_norm(in.norm(), in.x.data(), in.f.data(), kRows, width, y.data());
    const std::vector<double> want = exact_norm(in, sum(in.x, 1, in.f));
    expect_close(y, want, 3e-6);

    add_both(in.norm(), in.x.data(), in.d.data(), in.f.data(), 0.3F, kRows, width, y.data(),
             d.data());
    expect_close(y, want, 3e-6);
    expect_close(d, sum(in.d, 0.3F, in.f), 2e-7);
  }
}

TEST_P(Rows, RootMeanSquareNormsAgreeWithTheDefinition) {
  for (const int width : kSizes) {
    SCOPED_TRACE(width);
    const Inputs in{width};
    const Norm norm{.weight = in.weight.data(), .epsilon = 0.01F, .is_rms = true};
    const auto exact = [&](std::vector<double> a) {
      for (int64_t row = 0; row < kRows; ++row) {
        double squares = 0;
        double* const x = a.data() + row * width;
        for (int64_t j = 0; j < width; ++j) squares += x[j] * x[j] / width;
        for (int64_t j = 0; j < width; ++j) x[j] *= in.weight[j] / std::sqrt(squares + 0.01);
      }
      return a;
    };
    std::vector<float> y(in.x.size()), d(in.x.size());
    layer_norm(norm, in.x.data(), kRows, width, y.data());
    expect_close(y, exact(sum(in.x, 0, in.f)), 3e-6);
    add_layer_norm(norm, in.x.data(), in.f.data(), kRows, width, y.data());
    expect_close(y, exact(sum(in.x, 1, in.f)), 3e-6);
    add_both(norm, in.x.data(), in.d.data(), in.f.data(), 0.3F, kRows, width, y.data(), d.data());
    expect_close(y, exact(sum(in.x, 1, in.f)), 3e-6);
    expect_close(d, sum(in.d, 0.3F, in.f), 2e-7);
  }
}

TEST_P(Rows, OutputsMayTakeTheirInputsPlace) {
  const Inputs in{33};
  std::vector<float> y(in.x.size()), d(in.x.size());
  add_both(in.norm(), in.x.data(), in.d.data(), in.f.data(), 0.3F, kRows, 33, y.data(), d.data());
  Inputs over = in;
  add_both(in.norm(), over.x.data(), over.d.data(), in.f.data(), 0.3F, kRows, 33, over.x.data(),
           over.d.data());
  EXPECT_EQ(over.x, y);
  EXPECT_EQ(over.d, d);
}

// The one-pass variance E[x^2] - E[x]^2 has no digit left here.
TEST_P(Rows, LargeMeanKeepsItsVariance) {
  Inputs in{256};
  for (float& x : in.x) x = 4096 + std::round(x * 64) / 64;
  std::vector<float> y(in.x.size());
  layer_norm(in.norm(), in.x.data(), kRows, 256, y.data());
  expect_close(y, exact_norm(in, sum(in.x, 0, in.f)), 1e-3);
}

TEST_P(Rows, ARowDoesNotDependOnTheOthers) {
  const Inputs in{257};
  std::vector<float> y(in.x.size()), one(257);
  add_layer_norm(in.norm(), in.x.data(), in.f.data(), kRows, 257, y.data());
  for (int64_t row = 0; row < kRows; ++row) {
    add_layer_norm(in.norm(), in.x.data() + row * 257, in.f.data() + row * 257, 1, 257, one.data());
    EXPECT_TRUE(std::equal(one.begin(), one.end(), y.begin() + row * 257));
  }
}

TEST_P(Rows, NotANumberSpoilsItsRowAndNoOther) {
  for (const int place : {0, 32}) {
    Inputs in{33};
    in.x[33 + place] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> y(in.x.size());
    layer_norm(in.norm(), in.x.data(), kRows, 33, y.data());
    for (int64_t i = 0; i < kRows * 33; ++i) EXPECT_EQ(std::isnan(y[i]), i / 33 == 1);
  }
}

TEST_P(Rows, SumsAndMultiplesAgreeWithTheDefinition) {
  for (const int width : kSizes) {
    SCOPED_TRACE(width);
    const Inputs in{width};
    const auto count = static_cast<int64_t>(in.x.size());
    std::vector<float> y(count);
    add(in.x.data(), in.f.data(), count, y.data());
    expect_close(y, sum(in.x, 1, in.f), 2e-7);
    add_scaled(in.x.data(), -0.7F, in.f.data(), count, y.data());
    expect_close(y, sum(in.x, -0.7F, in.f), 2e-7);
    scale(-0.7F, in.x.data(), count, y.data());
    expect_close(y, sum(std::vector<float>(count), -0.7F, in.x), 1e-7);
    scale_columns(in.weight.data(), in.x.data(), kRows, width, y.data());
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(y[i], in.weight[i % width] * in.x[i]);
  }
}

struct Activation {
  const char* name;
  void (*function)(const float* x, int64_t count, float* y);
  double (*exact)(double x);
  double tolerance, relative;  // of max(1, |x|), and of the value
};

TEST_P(Rows, ActivationsAgreeWithTheirDefinitionsHoweverLarge) {
  std::vector<float> x;
  for (const float size : {0.0F, 1e-30F, 1e-3F, 0.5F, 1.0F, 1.7F, 3.0F, 5.0F, 8.0F, 20.0F, 80.0F,
                           90.0F, 1e12F, 1e30F}) {
    x.insert(x.end(), {size, -size});
  }
  const Activation all[] = {
      {"relu", relu, [](double v) { return std::max(v, 0.0); }, 0, 0},
      {"swish", swish, [](double v) { return v / (1 + std::exp(-v)); }, 1e-36, 4e-7},
      {"gelu", gelu, [](double v) { return v / 2 * std::erfc(-v / std::sqrt(2)); }, 3e-7, 0},
      {"gelu_tanh", gelu_tanh,
       [](double v) {
         const double u = std::sqrt(2 / std::acos(-1)) * (v + 0.044715 * v * v * v);
         return v / (1 + std::exp(-2 * u));
       },
       1e-36, 2e-5}};
  for (const Activation& activation : all) {
    SCOPED_TRACE(activation.name);
    for (size_t count = 1; count <= x.size(); ++count) {  // in vectors and one by one
      std::vector<float> y(count);
      activation.function(x.data(), static_cast<int64_t>(count), y.data());
      for (size_t i = 0; i < count; ++i) {
        const double want = activation.exact(x[i]);
        EXPECT_NEAR(y[i], want,
                    activation.tolerance * std::max(1.0, std::abs(double{x[i]})) +
                        activation.relative * std::abs(want))
            << x[i];
      }
    }
  }
}

TEST_P(Rows, ProductsAgreeWithTheDefinition) {
  for (const int width : kSizes) {
    const Inputs in{width};
    std::vector<float> y(in.x.size());
    multiply(in.x.data(), in.f.data(), static_cast<int64_t>(y.size()), y.data());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], in.x[i] * in.f[i]);
  }
}

TEST_P(Rows, RotationsAgreeWithTheDefinition) {
  for (const int64_t half : {1, 7, 8, 9, 16, 17, 32}) {
    SCOPED_TRACE(half);
    constexpr int kHeads = 3;
    std::vector<float> turn(2 * half), x = random_floats(kHeads * 2 * half, 1);
    for (int64_t j = 0; j < half; ++j) {
      const double angle = 0.5 + static_cast<double>(j);
      turn[j] = static_cast<float>(std::cos(angle));
      turn[half + j] = static_cast<float>(std::sin(angle));
    }
    std::vector<double> want(x.size());
    for (int64_t at = 0; at < kHeads * 2 * half; ++at) {
      const int64_t j = at % half;
      const bool is_first = at / half % 2 == 0;
      const double a = x[is_first ? at : at - half], b = x[is_first ? at + half : at];
      const double c = turn[j], s = turn[half + j];
      want[at] = is_first ? a * c - b * s : b * c + a * s;
    }
    rotate(turn.data(), kHeads, 2 * half, x.data());
    expect_close(x, want, 3e-7);
  }
}

}  // namespace
}  // namespace residual::kernels
