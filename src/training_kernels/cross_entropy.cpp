#include "training_kernels/cross_entropy.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "training_kernels/cross_entropy.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/simd.h"
#include "training_kernels/bf16_simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
namespace {

struct Row {
  float most, sum;
};

// Returns the largest element and the sum of all. A NaN in any element makes the sum NaN.
HWY_INLINE Row survey(const float* row, int64_t n) {
  Floats most = hn::Set(kFloats, row[0]), sum = hn::Zero(kFloats);
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const auto x = hn::LoadU(kFloats, row + j);
    most = hn::Max(most, x);
    sum = hn::Add(sum, x);
  }
  Row found{hn::GetLane(hn::MaxOfLanes(kFloats, most)), total(sum)};
  for (; j < n; ++j) {
    found.most = std::max(found.most, row[j]);
    found.sum += row[j];
  }
  return found;
}

// Sets row = exp(row - most) and returns the sum.
HWY_INLINE float exponentiate(float* row, int64_t n, float most) {
  return sum_over(n, [&](auto t, int64_t j) HWY_ATTR {
    const auto e = exp_nonpositive(t, hn::Sub(hn::LoadU(t, row + j), hn::Set(t, most)));
    hn::StoreU(e, t, row + j);
    return e;
  });
}

}  // namespace

CrossEntropySums cross_entropy(const CrossEntropy& p) {
  CrossEntropySums sums;
  const int64_t n = p.symbols;
  const double symbols = static_cast<double>(n);
  for (int64_t i = 0; i < p.rows; ++i) {
    float* row = p.logits + i * n;
    const int64_t target = p.targets[i];
    const float gold_logit = row[target];
    const Row found = survey(row, n);
    const float sum = exponentiate(row, n, found.most);
    const double log_sum = static_cast<double>(found.most) + std::log(static_cast<double>(sum));
    const double nll = log_sum - gold_logit;
    sums.nll += nll;
    sums.loss += p.gold * nll + p.each * (symbols * log_sum - found.sum);

    const auto weight = static_cast<float>((p.gold + p.each * symbols) / sum);
    const auto gradient = [&](auto t, int64_t j) HWY_ATTR {
      return hn::MulSub(hn::LoadU(t, row + j), hn::Set(t, weight), hn::Set(t, p.each));
    };
    if (p.gradient == nullptr) {
      over(n, [&](auto t, int64_t j) HWY_ATTR { hn::StoreU(gradient(t, j), t, row + j); });
      row[target] -= p.gold;
    } else {
      Bf16* const to = p.gradient + i * n;
      over(n, [&](auto t, int64_t j) HWY_ATTR { store_bf16(t, gradient(t, j), to + j); });
      const auto gold = hn::Sub(gradient(kOneFloat, target), hn::Set(kOneFloat, p.gold));
      store_bf16(kOneFloat, gold, to + target);
    }
  }
  return sums;
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(cross_entropy);

CrossEntropySums cross_entropy(const CrossEntropy& p) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy)(p);
}

}  // namespace residual::kernels
#endif
