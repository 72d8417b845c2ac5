#include "training_kernels/add_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(AddNormKernel);

constexpr int64_t kRows = 3;
constexpr float kEpsilon = 1e-5F, kEta = 0.7F;
constexpr Dropout kOff, kOn{.rate = 0.3, .key = 5};

struct Inputs {
  int64_t width;
  std::vector<float> x = random_floats(kRows * width, 1), f = random_floats(kRows * width, 2);
  std::vector<float> d = random_floats(kRows * width, 3);
  std::vector<float> weight = random_floats(width, 4), bias = random_floats(width, 5);
  std::vector<float> dy = random_floats(kRows * width, 6), dd = random_floats(kRows * width, 7);

  size_t size() const { return x.size(); }
};

std::vector<float> factors(const Dropout& dropout, size_t count) {
  std::vector<float> made(count, 1.0F);
  if (dropout.on()) dropout_factors(dropout, 0, static_cast<int64_t>(count), made.data());
  return made;
}

struct Values {
  std::vector<float> y, d_out, sum, mean, rstd;
};

// What a caller gives of f and d.
enum class Streams { x, xf, xfd };

Values run(const Inputs& in, Streams streams, const Dropout& dropout) {
  Values v{.y = std::vector<float>(in.size()),
           .d_out = std::vector<float>(in.size()),
           .sum = streams == Streams::x ? in.x : std::vector<float>(in.size()),
           .mean = std::vector<float>(kRows),
           .rstd = std::vector<float>(kRows)};
  add_norm({.rows = kRows,
            .width = in.width,
            .epsilon = kEpsilon,
            .eta = kEta,
            .dropout = dropout,
            .x = in.x.data(),
            .f = streams == Streams::x ? nullptr : in.f.data(),
            .d = streams == Streams::xfd ? in.d.data() : nullptr,
            .weight = in.weight.data(),
            .bias = in.bias.data(),
            .y = v.y.data(),
            .d_out = v.d_out.data(),
            .sum = streams == Streams::x ? nullptr : v.sum.data(),
            .mean = v.mean.data(),
            .rstd = v.rstd.data()});
  return v;
}

struct Exact {
  std::vector<double> normal, y, d_out, dx, df, dweight, dbias;
};

// The header's equations in float64; the gradient by the Jacobian of the norm,
// dn_j / da_i = rstd ([i = j] - 1/width - n_i n_j / width).
Exact exact(const Inputs& in, Streams streams, const Dropout& dropout) {
  const size_t width = in.width, size = in.size();
  const auto n = static_cast<double>(width);
  const std::vector<float> drop = factors(dropout, size);
  Exact e;
  for (auto* m : {&e.normal, &e.y, &e.d_out, &e.dx, &e.df}) m->resize(size);
  for (auto* m : {&e.dweight, &e.dbias}) m->resize(width, 1.0);  // what was there
  for (size_t row = 0; row < kRows; ++row) {
    std::vector<double> a(width);
    double mean = 0, variance = 0;
    for (size_t j = 0; j < width; ++j) {
      const size_t at = row * width + j;
      const double g = streams == Streams::x ? 0.0 : double{in.f[at]} * drop[at];
      a[j] = in.x[at] + g;
      if (streams == Streams::xfd) e.d_out[at] = in.d[at] + kEta * g;
      mean += a[j] / n;
    }
    for (const double v : a) variance += (v - mean) * (v - mean) / n;
    const double rstd = 1 / std::sqrt(variance + kEpsilon);
    double* normal = e.normal.data() + row * width;
    for (size_t j = 0; j < width; ++j) normal[j] = (a[j] - mean) * rstd;
    for (size_t i = 0; i < width; ++i) {
      const size_t at = row * width + i;
      e.y[at] = normal[i] * in.weight[i] + in.bias[i];
      e.dweight[i] += in.dy[at] * normal[i];
      e.dbias[i] += in.dy[at];
      for (size_t j = 0; j < width; ++j) {
        const double slope = rstd * ((i == j ? 1 : 0) - (1 + normal[i] * normal[j]) / n);
        e.dx[at] += double{in.dy[row * width + j]} * in.weight[j] * slope;
      }
      const double from_dual = streams == Streams::xfd ? double{kEta} * in.dd[at] : 0.0;
      e.df[at] = (e.dx[at] + from_dual) * drop[at];
    }
  }
  return e;
}

TEST_P(AddNormKernel, AgreesWithItsDefinition) {
  for (const int width : kSizes) {
    const Inputs in{width};
    for (const Streams streams : {Streams::x, Streams::xf, Streams::xfd}) {
      for (const Dropout& dropout : {kOff, kOn}) {
        SCOPED_TRACE(testing::Message() << width << ", streams " << static_cast<int>(streams)
                                        << ", dropout " << dropout.rate);
        const Exact want = exact(in, streams, dropout);
        const Values got = run(in, streams, dropout);
        expect_close(got.y, want.y, 1e-5);
        if (streams == Streams::xfd) expect_close(got.d_out, want.d_out, 1e-6);

        const bool has_f = streams != Streams::x;
        std::vector<float> dx(in.size()), df(in.size()), dweight(width, 1.0F), dbias(width, 1.0F);
        add_norm_gradient({.rows = kRows,
                           .width = width,
                           .eta = kEta,
                           .dropout = dropout,
                           .dy = in.dy.data(),
                           .dd = streams == Streams::xfd ? in.dd.data() : nullptr,
                           .sum = got.sum.data(),
                           .mean = got.mean.data(),
                           .rstd = got.rstd.data(),
                           .weight = in.weight.data(),
                           .dx = dx.data(),
                           .df = has_f ? df.data() : nullptr,
                           .dweight = dweight.data(),
                           .dbias = dbias.data()});
        expect_close(dx, want.dx, 1e-5);
        if (has_f) expect_close(df, want.df, 1e-5);
        expect_close(dweight, want.dweight, 1e-5);
        expect_close(dbias, want.dbias, 1e-6);
      }
    }
  }
}

// The one-pass variance E[a^2] - E[a]^2 has no digit left here.
TEST_P(AddNormKernel, KeepsTheVarianceOfALargeMean) {
  Inputs in{256};
  for (float& x : in.x) x = 10000 + std::round(x * 64) / 64;
  expect_close(run(in, Streams::x, kOff).y, exact(in, Streams::x, kOff).y, 2e-3);
}

TEST_P(AddNormKernel, NotANumberSpoilsItsRowAndNoOther) {
  for (const int place : {0, 32}) {
    Inputs in{33};
    in.f[33 + place] = std::numeric_limits<float>::quiet_NaN();
    const Values got = run(in, Streams::xfd, kOff);
    for (int64_t i = 0; i < kRows * 33; ++i) {
      EXPECT_EQ(std::isnan(got.y[i]), i / 33 == 1);
      EXPECT_EQ(std::isnan(got.d_out[i]), i == 33 + place);
    }
  }
}

// Chunks of 1024 elements.
TEST_P(AddNormKernel, AddsWhatIsLeftAfterDropout) {
  for (const int count : {0, 1, 7, 16, 17, 1023, 1024, 1025, 3000}) {
    for (const Dropout& dropout : {kOff, kOn}) {
      SCOPED_TRACE(testing::Message() << count << ", dropout " << dropout.rate);
      const std::vector<float> x = random_floats(count, 1), f = random_floats(count, 2);
      const std::vector<float> drop = factors(dropout, count);
      std::vector<double> sum(count), alone(count);
      for (int i = 0; i < count; ++i) {
        alone[i] = double{kEta} * f[i] * drop[i];
        sum[i] = x[i] + alone[i];
      }
      std::vector<float> y(count);
      AddDropped p{.count = count,
                   .c = kEta,
                   .dropout = dropout,
                   .x = x.data(),
                   .f = f.data(),
                   .y = y.data()};
      add_dropped(p);
      expect_close(y, sum, 1e-6);
      p.x = nullptr;
      add_dropped(p);
      expect_close(y, alone, 1e-6);
    }
  }
}

}  // namespace
}  // namespace residual::kernels
