#include "training_kernels/epilogue.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training_kernels/epilogue.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/scratch.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
void add_bias(const float* bias, int64_t rows, int64_t width, float* y) {
  for (int64_t row = 0; row < rows; ++row, y += width) {
    over(width, [&](auto t, int64_t j) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(t, y + j), hn::LoadU(t, bias + j)), t, y + j);
    });
  }
}

void bias_relu_dropout(const float* bias, const Dropout& dropout, int64_t first, int64_t rows,
                       int64_t width, float* y) {
  float* factors = thread_scratch(width);
  std::fill_n(factors, width, 1.0F);
  for (int64_t row = 0; row < rows; ++row, y += width) {
    if (dropout.on()) dropout_factors(dropout, first + row * width, width, factors);
    over(width, [&](auto t, int64_t j) HWY_ATTR {
      const auto sum = hn::Add(hn::LoadU(t, y + j), hn::LoadU(t, bias + j));
      const auto positive = hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(t)), sum);  // keeps NaN
      hn::StoreU(hn::Mul(positive, hn::LoadU(t, factors + j)), t, y + j);
    });
  }
}

void relu_dropout_gradient(const float* y, const float* dy, const Dropout& dropout, int64_t count,
                           float* dx) {
  const float scale = dropout.on() ? dropout.kept_scale() : 1;
  over(count, [&](auto t, int64_t j) HWY_ATTR {
    const auto positive = hn::Gt(hn::LoadU(t, y + j), hn::Zero(t));
    const auto scaled = hn::Mul(hn::LoadU(t, dy + j), hn::Set(t, scale));
    hn::StoreU(hn::IfThenElseZero(positive, scaled), t, dx + j);
  });
}

void add_column_sums(const float* x, int64_t rows, int64_t width, float* sums) {
  for (int64_t row = 0; row < rows; ++row, x += width) {
    over(width, [&](auto t, int64_t j) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(t, sums + j), hn::LoadU(t, x + j)), t, sums + j);
    });
  }
}

void look_up(const Lookup& p, float* y) {
  float* factors = thread_scratch(p.width);
  std::fill_n(factors, p.width, 1.0F);
  for (int64_t row = 0; row < p.rows; ++row, y += p.width) {
    if (p.dropout.on()) dropout_factors(p.dropout, row * p.width, p.width, factors);
    const float* token = p.table + p.ids[row] * p.width;
    const float* position = p.positions + p.places[row] * p.width;
    over(p.width, [&](auto t, int64_t j) HWY_ATTR {
      const auto scaled = hn::Mul(hn::LoadU(t, token + j), hn::Set(t, p.factor));
      const auto sum = hn::Add(scaled, hn::LoadU(t, position + j));
      hn::StoreU(hn::Mul(sum, hn::LoadU(t, factors + j)), t, y + j);
    });
  }
}

void look_up_gradient(const Lookup& p, const float* dy, float* dtable) {
  float* factors = thread_scratch(p.width);
  std::fill_n(factors, p.width, 1.0F);
  for (int64_t row = 0; row < p.rows; ++row, dy += p.width) {
    if (p.dropout.on()) dropout_factors(p.dropout, row * p.width, p.width, factors);
    float* token = dtable + p.ids[row] * p.width;
    over(p.width, [&](auto t, int64_t j) HWY_ATTR {
      const auto dropped = hn::Mul(hn::LoadU(t, dy + j), hn::LoadU(t, factors + j));
      hn::StoreU(hn::MulAdd(dropped, hn::Set(t, p.factor), hn::LoadU(t, token + j)), t, token + j);
    });
  }
}

void accumulate(float c, const float* x, int64_t count, float* y) {
  over(count, [&](auto t, int64_t j) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(t, c), hn::LoadU(t, x + j), hn::LoadU(t, y + j)), t, y + j);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(add_bias);
HWY_EXPORT(bias_relu_dropout);
HWY_EXPORT(relu_dropout_gradient);
HWY_EXPORT(add_column_sums);
HWY_EXPORT(look_up);
HWY_EXPORT(look_up_gradient);
HWY_EXPORT(accumulate);

void add_bias(const float* bias, int64_t rows, int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(add_bias)(bias, rows, width, y);
}
void bias_relu_dropout(const float* bias, const Dropout& dropout, int64_t first, int64_t rows,
                       int64_t width, float* y) {
  HWY_DYNAMIC_DISPATCH(bias_relu_dropout)(bias, dropout, first, rows, width, y);
}
void relu_dropout_gradient(const float* y, const float* dy, const Dropout& dropout, int64_t count,
                           float* dx) {
  HWY_DYNAMIC_DISPATCH(relu_dropout_gradient)(y, dy, dropout, count, dx);
}
void add_column_sums(const float* x, int64_t rows, int64_t width, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_column_sums)(x, rows, width, sums);
}
void look_up(const Lookup& p, float* y) { HWY_DYNAMIC_DISPATCH(look_up)(p, y); }
void look_up_gradient(const Lookup& p, const float* dy, float* dtable) {
  HWY_DYNAMIC_DISPATCH(look_up_gradient)(p, dy, dtable);
}
void accumulate(float c, const float* x, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(accumulate)(c, x, count, y);
}

}  // namespace residual::kernels
#endif
