#include "training_kernels/add_norm.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training_kernels/add_norm.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/scratch.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
namespace {

// Returns the dropout factors of one row; all are 1 without dropout.
const float* row_factors(const Dropout& dropout, int64_t row, int64_t width, float* scratch) {
  if (dropout.on()) dropout_factors(dropout, row * width, width, scratch);
  return scratch;
}

// Computes a = x + drop(f) and d' = d + eta drop(f) of one row, into a.
HWY_INLINE void join(const AddNorm& p, int64_t row, const float* factors, float* a) {
  const int64_t at = row * p.width;
  const float *x = p.x + at, *f = p.f + at;
  over(p.width, [&](auto t, int64_t j) HWY_ATTR {
    const auto g = hn::Mul(hn::LoadU(t, f + j), hn::LoadU(t, factors + j));
    hn::StoreU(hn::Add(hn::LoadU(t, x + j), g), t, a + j);
    if (p.d != nullptr) {
      const auto d = hn::MulAdd(hn::Set(t, p.eta), g, hn::LoadU(t, p.d + at + j));
      hn::StoreU(d, t, p.d_out + at + j);
    }
  });
}

}  // namespace

void add_norm(const AddNorm& p) {
  float* scratch = thread_scratch(p.width);
  std::fill_n(scratch, p.width, 1.0F);
  const auto width = static_cast<float>(p.width);
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t at = row * p.width;
    const float* a = p.f == nullptr ? p.x + at : p.sum + at;
    if (p.f != nullptr) {
      join(p, row, row_factors(p.dropout, row, p.width, scratch), p.sum + at);
    }
    const auto element = [&](auto t, int64_t j) HWY_ATTR { return hn::LoadU(t, a + j); };
    const float mean = p.is_rms ? 0 : sum_over(p.width, element) / width;
    // The variance takes two passes, because E[a^2] - E[a]^2 loses every digit when
    // |mean| >> deviation.
    const float squares = sum_over(p.width, [&](auto t, int64_t j) HWY_ATTR {
      const auto centred = hn::Sub(hn::LoadU(t, a + j), hn::Set(t, mean));
      return hn::Mul(centred, centred);
    });
    const float rstd = 1 / std::sqrt(squares / width + p.epsilon);
    over(p.width, [&](auto t, int64_t j) HWY_ATTR {
      const auto centred = hn::Sub(hn::LoadU(t, a + j), hn::Set(t, mean));
      const auto normal = hn::Mul(centred, hn::Set(t, rstd));
      const auto bias = p.is_rms ? hn::Zero(t) : hn::LoadU(t, p.bias + j);
      hn::StoreU(hn::MulAdd(normal, hn::LoadU(t, p.weight + j), bias), t, p.y + at + j);
    });
    p.mean[row] = mean;
    p.rstd[row] = rstd;
  }
}

// With n = (a - mean) rstd and u = dy * weight:  da = rstd (u - mean(u) - n mean(u n)), without
// mean(u) for RMSNorm.
void add_norm_gradient(const AddNormGradient& p) {
  float* scratch = thread_scratch(p.width);
  std::fill_n(scratch, p.width, 1.0F);
  const auto width = static_cast<float>(p.width);
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t at = row * p.width;
    const float *dy = p.dy + at, *a = p.sum + at;
    const float mean = p.mean[row], rstd = p.rstd[row];
    const auto normal = [&](auto t, int64_t j) HWY_ATTR {
      return hn::Mul(hn::Sub(hn::LoadU(t, a + j), hn::Set(t, mean)), hn::Set(t, rstd));
    };
    Floats sum = hn::Zero(kFloats), sum_n = hn::Zero(kFloats);
    float rest = 0, rest_n = 0;
    over(p.width, [&](auto t, int64_t j) HWY_ATTR {
      const auto g = hn::LoadU(t, dy + j), n = normal(t, j);
      const auto u = hn::Mul(g, hn::LoadU(t, p.weight + j));
      hn::StoreU(hn::MulAdd(g, n, hn::LoadU(t, p.dweight + j)), t, p.dweight + j);
      if (!p.is_rms) hn::StoreU(hn::Add(g, hn::LoadU(t, p.dbias + j)), t, p.dbias + j);
      if constexpr (hn::MaxLanes(t) == 1 && kLanes > 1) {
        rest += hn::GetLane(u);
        rest_n += hn::GetLane(hn::Mul(u, n));
      } else {
        sum = hn::Add(sum, u);
        sum_n = hn::MulAdd(u, n, sum_n);
      }
    });
    const float mean_u = p.is_rms ? 0 : (total(sum) + rest) / width;
    const float mean_un = (total(sum_n) + rest_n) / width;
    if (p.df != nullptr) row_factors(p.dropout, row, p.width, scratch);
    over(p.width, [&](auto t, int64_t j) HWY_ATTR {
      const auto u = hn::Mul(hn::LoadU(t, dy + j), hn::LoadU(t, p.weight + j));
      const auto centred =
          hn::NegMulAdd(normal(t, j), hn::Set(t, mean_un), hn::Sub(u, hn::Set(t, mean_u)));
      const auto da = hn::Mul(centred, hn::Set(t, rstd));
      hn::StoreU(da, t, p.dx + at + j);
      if (p.df == nullptr) return;
      const auto both =
          p.dd == nullptr ? da : hn::MulAdd(hn::Set(t, p.eta), hn::LoadU(t, p.dd + at + j), da);
      hn::StoreU(hn::Mul(both, hn::LoadU(t, scratch + j)), t, p.df + at + j);
    });
  }
}

void add_dropped(const AddDropped& p) {
  constexpr int64_t kChunk = 1024;  // elements whose factors fit into the first-level cache
  float* scratch = thread_scratch(kChunk);
  std::fill_n(scratch, kChunk, 1.0F);
  for (int64_t begin = 0; begin < p.count; begin += kChunk) {
    const int64_t count = std::min(kChunk, p.count - begin);
    if (p.dropout.on()) dropout_factors(p.dropout, begin, count, scratch);
    over(count, [&](auto t, int64_t j) HWY_ATTR {
      const auto g = hn::Mul(hn::LoadU(t, p.f + begin + j), hn::LoadU(t, scratch + j));
      const auto x = p.x == nullptr ? hn::Zero(t) : hn::LoadU(t, p.x + begin + j);
      hn::StoreU(hn::MulAdd(hn::Set(t, p.c), g, x), t, p.y + begin + j);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(add_norm);
HWY_EXPORT(add_norm_gradient);
HWY_EXPORT(add_dropped);

void add_norm(const AddNorm& p) { HWY_DYNAMIC_DISPATCH(add_norm)(p); }
void add_norm_gradient(const AddNormGradient& p) { HWY_DYNAMIC_DISPATCH(add_norm_gradient)(p); }
void add_dropped(const AddDropped& p) { HWY_DYNAMIC_DISPATCH(add_dropped)(p); }

}  // namespace residual::kernels
#endif
