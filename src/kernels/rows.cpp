#include "kernels/rows.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

// y = (a - mean(a)) / sqrt(var(a) + epsilon) * weight + bias, where load(tag, i) gives a and leaves
// it in y. Two passes over y: E[a^2] - E[a]^2 loses every digit when |mean| >> deviation.
template <class Load>
HWY_INLINE void normalize(const Norm& norm, int64_t width, float* y, const Load& load) {
  auto sum = hn::Zero(kFloats);
  float rest = 0;
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    const auto a = load(kFloats, i);
    hn::StoreU(a, kFloats, y + i);
    sum = hn::Add(sum, a);
  }
  for (; i < width; ++i) {
    const auto a = load(kOneFloat, i);
    hn::StoreU(a, kOneFloat, y + i);
    rest += hn::GetLane(a);
  }
  const auto count = static_cast<float>(width);
  const float mean = (hn::GetLane(hn::SumOfLanes(kFloats, sum)) + rest) / count;

  auto squares = hn::Zero(kFloats);
  rest = 0;
  for (i = 0; i + kLanes <= width; i += kLanes) {
    const auto a = hn::Sub(hn::LoadU(kFloats, y + i), hn::Set(kFloats, mean));
    squares = hn::MulAdd(a, a, squares);
  }
  for (; i < width; ++i) rest += (y[i] - mean) * (y[i] - mean);
  const float variance = (hn::GetLane(hn::SumOfLanes(kFloats, squares)) + rest) / count;
  const float inverse = 1 / std::sqrt(variance + norm.epsilon);

  over(width, [&](auto d, int64_t j) HWY_ATTR {
    const auto a = hn::Mul(hn::Sub(hn::LoadU(d, y + j), hn::Set(d, mean)), hn::Set(d, inverse));
    hn::StoreU(hn::MulAdd(a, hn::LoadU(d, norm.weight + j), hn::LoadU(d, norm.bias + j)), d, y + j);
  });
}

}  // namespace

void layer_norm(const Norm& norm, const float* x, int64_t rows, int64_t width, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    normalize(norm, width, y, [&](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
  }
}

void add_layer_norm(const Norm& norm, const float* x, const float* f, int64_t rows, int64_t width,
                    float* y) {
  for (int64_t row = 0; row < rows; ++row, x += width, f += width, y += width) {
    normalize(norm, width, y, [&](auto d, int64_t i) HWY_ATTR {
      return hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, f + i));
    });
  }
}

void add_both(const Norm& norm, const float* x, const float* d, const float* f, float eta,
              int64_t rows, int64_t width, float* y, float* d_out) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * width;
    normalize(norm, width, y + at, [&](auto tag, int64_t i) HWY_ATTR {
      const auto block = hn::LoadU(tag, f + at + i);
      hn::StoreU(hn::MulAdd(hn::Set(tag, eta), block, hn::LoadU(tag, d + at + i)), tag,
                 d_out + at + i);
      return hn::Add(hn::LoadU(tag, x + at + i), block);
    });
  }
}

void add(const float* x, const float* f, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, f + i)), d, y + i);
  });
}

void add_scaled(const float* x, float c, const float* f, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(d, c), hn::LoadU(d, f + i), hn::LoadU(d, x + i)), d, y + i);
  });
}

void scale(float c, const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i)
                  HWY_ATTR { hn::StoreU(hn::Mul(hn::Set(d, c), hn::LoadU(d, x + i)), d, y + i); });
}

// With e = e^-|x|, swish is x / (1 + e), times e where x is negative; no term overflows.
void swish(const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto e = exp_nonpositive(d, hn::Neg(hn::Abs(v)));
    const auto top = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, e), v);
    hn::StoreU(hn::Div(top, hn::Add(hn::Set(d, 1.0F), e)), d, y + i);
  });
}

void scale_columns(const float* w, const float* x, int64_t rows, int64_t width, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    over(width, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, w + i), hn::LoadU(d, x + i)), d, y + i);
    });
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(layer_norm);
HWY_EXPORT(add_layer_norm);
HWY_EXPORT(add_both);
HWY_EXPORT(add);
HWY_EXPORT(add_scaled);
HWY_EXPORT(scale);
HWY_EXPORT(swish);
HWY_EXPORT(scale_columns);

void layer_norm(const Norm& norm, const float* x, int64_t rows, int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(layer_norm)(norm, x, rows, width, y);
}

void add_layer_norm(const Norm& norm, const float* x, const float* f, int64_t rows, int64_t width,
                    float* y) {
  HWY_DYNAMIC_DISPATCH(add_layer_norm)(norm, x, f, rows, width, y);
}

void add_both(const Norm& norm, const float* x, const float* d, const float* f, float eta,
              int64_t rows, int64_t width, float* y, float* d_out) {
  HWY_DYNAMIC_DISPATCH(add_both)(norm, x, d, f, eta, rows, width, y, d_out);
}

void add(const float* x, const float* f, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(add)(x, f, count, y);
}

void add_scaled(const float* x, float c, const float* f, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(x, c, f, count, y);
}

void scale(float c, const float* x, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(scale)(c, x, count, y);
}

void swish(const float* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(swish)(x, count, y); }

void scale_columns(const float* w, const float* x, int64_t rows, int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(scale_columns)(w, x, rows, width, y);
}

}  // namespace residual::kernels
#endif
