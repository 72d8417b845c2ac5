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

// y = a / sqrt(mean(a^2) + epsilon) * weight, where load(tag, i) gives a.
template <class Load>
HWY_INLINE void normalize_rms(const Norm& norm, int64_t width, float* y, const Load& load) {
  const float squares = sum_over(width, [&](auto d, int64_t i) HWY_ATTR {
    const auto a = load(d, i);
    hn::StoreU(a, d, y + i);
    return hn::Mul(a, a);
  });
  const float inverse = 1 / std::sqrt(squares / static_cast<float>(width) + norm.epsilon);
  over(width, [&](auto d, int64_t j) HWY_ATTR {
    const auto a = hn::Mul(hn::LoadU(d, y + j), hn::Set(d, inverse));
    hn::StoreU(hn::Mul(a, hn::LoadU(d, norm.weight + j)), d, y + j);
  });
}

// y = (a - mean(a)) / sqrt(var(a) + epsilon) * weight + bias, where load(tag, i) gives a and leaves
// it in y. Two passes over y: E[a^2] - E[a]^2 loses every digit when |mean| >> deviation.
template <class Load>
HWY_INLINE void normalize(const Norm& norm, int64_t width, float* y, const Load& load) {
  if (norm.is_rms) return normalize_rms(norm, width, y, load);
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

// f / (1 + e^-u). With e = e^-|u|, it is f / (1 + e), times e where u is negative; no term
// overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_times(D d, V u, V f) {
  const V e = exp_nonpositive(d, hn::Neg(hn::Abs(u)));
  const V top = hn::IfThenElse(hn::Lt(u, hn::Zero(d)), hn::Mul(f, e), f);
  return hn::Div(top, hn::Add(hn::Set(d, 1.0F), e));
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

void multiply(const float* x, const float* f, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, f + i)), d, y + i);
  });
}

void relu(const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i)
                  HWY_ATTR { hn::StoreU(hn::Max(hn::LoadU(d, x + i), hn::Zero(d)), d, y + i); });
}

void swish(const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(sigmoid_times(d, v, v), d, y + i);
  });
}

// Phi(-|x|) is half of erfc(|x| / sqrt(2)), by formula 7.1.26 of Abramowitz and Stegun.
void gelu(const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto size = hn::Abs(v);
    const auto one = hn::Set(d, 1.0F);
    const auto t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.231641888F), size, one));
    auto p = hn::MulAdd(t, hn::Set(d, 0.5F * 1.061405429F), hn::Set(d, -0.5F * 1.453152027F));
    p = hn::MulAdd(t, p, hn::Set(d, 0.5F * 1.421413741F));
    p = hn::MulAdd(t, p, hn::Set(d, -0.5F * 0.284496736F));
    p = hn::Mul(t, hn::MulAdd(t, p, hn::Set(d, 0.5F * 0.254829592F)));
    const auto e = exp_nonpositive(d, hn::Mul(hn::Mul(v, v), hn::Set(d, -0.5F)));
    const auto below = hn::Mul(size, hn::Mul(p, e));  // |x| Phi(-|x|)
    hn::StoreU(hn::Sub(hn::Max(v, hn::Zero(d)), below), d, y + i);
  });
}

// (1 + tanh(u)) / 2 is 1 / (1 + e^-2u).
void gelu_tanh(const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto cube = hn::MulAdd(hn::Mul(hn::Mul(v, v), v), hn::Set(d, 0.044715F), v);
    hn::StoreU(sigmoid_times(d, hn::Mul(cube, hn::Set(d, 1.59576912F)), v), d, y + i);
  });
}

void rotate(const float* turn, int heads, int64_t width, float* x) {
  const int64_t half = width / 2;
  for (int head = 0; head < heads; ++head, x += width) {
    over(half, [&](auto d, int64_t j) HWY_ATTR {
      const auto a = hn::LoadU(d, x + j), b = hn::LoadU(d, x + half + j);
      const auto c = hn::LoadU(d, turn + j), s = hn::LoadU(d, turn + half + j);
      hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, x + j);
      hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, x + half + j);
    });
  }
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
HWY_EXPORT(multiply);
HWY_EXPORT(relu);
HWY_EXPORT(swish);
HWY_EXPORT(gelu);
HWY_EXPORT(gelu_tanh);
HWY_EXPORT(rotate);
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

void multiply(const float* x, const float* f, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(multiply)(x, f, count, y);
}

void relu(const float* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(relu)(x, count, y); }

void swish(const float* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(swish)(x, count, y); }

void gelu(const float* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(gelu)(x, count, y); }

void gelu_tanh(const float* x, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(gelu_tanh)(x, count, y);
}

void rotate(const float* turn, int heads, int64_t width, float* x) {
  HWY_DYNAMIC_DISPATCH(rotate)(turn, heads, width, x);
}

void scale_columns(const float* w, const float* x, int64_t rows, int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(scale_columns)(w, x, rows, width, y);
}

}  // namespace residual::kernels
#endif
