#include "kernels/vocabulary.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vocabulary.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/simd.h"

#ifndef RESIDUAL_KERNELS_VOCABULARY_ONCE
#define RESIDUAL_KERNELS_VOCABULARY_ONCE
namespace residual::kernels {
namespace {

// The best k of what was offered, sorted. An equal value offered later comes later.
class Best {
 public:
  Best(Scored* best, int k) : best_(best), k_(k) {}

  // Below or at this nothing enters any more.
  float threshold() const { return threshold_; }
  bool full() const { return count_ == k_; }

  void offer(float value, int64_t index) {
    if (full() && !(value > threshold_)) return;
    int at = full() ? k_ - 1 : count_++;
    for (; at > 0 && best_[at - 1].value < value; --at) best_[at] = best_[at - 1];
    best_[at] = {.value = value, .index = static_cast<int32_t>(index)};
    if (full()) threshold_ = best_[k_ - 1].value;
  }

 private:
  Scored* best_;
  int k_, count_ = 0;
  float threshold_ = -std::numeric_limits<float>::infinity();
};

}  // namespace
}  // namespace residual::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

// A row is read in blocks that stay in the first-level cache while they are looked at again.
constexpr int64_t kBlock = 512;

float block_maximum(const float* x, int64_t count) {
  float most = -std::numeric_limits<float>::max();
  Floats lanes = hn::Set(kFloats, most);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) lanes = hn::Max(lanes, hn::LoadU(kFloats, x + i));
  for (; i < count; ++i) most = std::max(most, x[i]);
  return std::max(most, hn::GetLane(hn::MaxOfLanes(kFloats, lanes)));
}

// sum_i exp(x_i - most)
float block_sum(const float* x, int64_t count, float most) {
  Floats sum = hn::Zero(kFloats);
  float rest = 0;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats below = hn::Sub(hn::LoadU(kFloats, x + i), hn::Set(kFloats, most));
    sum = hn::Add(sum, exp_nonpositive(kFloats, below));
  }
  for (; i < count; ++i) {
    rest += hn::GetLane(exp_nonpositive(kOneFloat, hn::Set(kOneFloat, x[i] - most)));
  }
  return total(sum) + rest;
}

void offer_block(const float* x, int64_t first, int64_t count, Best& best) {
  int64_t i = 0;
  for (; i < count && !best.full(); ++i) best.offer(x[i], first + i);
  for (; i + kLanes <= count; i += kLanes) {
    const auto above = hn::Gt(hn::LoadU(kFloats, x + i), hn::Set(kFloats, best.threshold()));
    if (hn::AllFalse(kFloats, above)) continue;
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(kFloats, above, bytes);
    for (auto bits = std::bit_cast<uint64_t>(bytes); bits != 0; bits &= bits - 1) {
      const int64_t at = i + std::countr_zero(bits);
      best.offer(x[at], first + at);
    }
  }
  for (; i < count; ++i) best.offer(x[i], first + i);
}

}  // namespace

// best may be null.
float pass_over_row(const float* x, int64_t count, Best* best) {
  float most = -std::numeric_limits<float>::max();  // finite, so that -inf - most is -inf
  double sum = 0;                                   // of exp(x_i - most)
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t size = std::min(kBlock, count - first);
    const float of_block = block_maximum(x + first, size);
    if (of_block > most) {
      sum *= std::exp(double{most} - of_block);
      most = of_block;
    }
    sum += block_sum(x + first, size, most);
    if (best != nullptr && (!best->full() || of_block > best->threshold())) {
      offer_block(x + first, first, size, *best);
    }
  }
  return static_cast<float>(most + std::log(sum));
}

void subtract(const float* x, float c, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Sub(hn::LoadU(kFloats, x + i), hn::Set(kFloats, c)), kFloats, y + i);
  }
  for (; i < count; ++i) y[i] = x[i] - c;
}

void mix(float share, const float* x, int64_t count, float* y) {
  over(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto a = hn::LoadU(d, y + i), b = hn::LoadU(d, x + i);
    const auto most = hn::Max(a, b);  // the larger term is 1: nothing underflows
    const auto other = hn::Mul(hn::Set(d, share), exp_nonpositive(d, hn::Sub(b, most)));
    const auto mean =
        hn::MulAdd(hn::Set(d, 1 - share), exp_nonpositive(d, hn::Sub(a, most)), other);
    hn::StoreU(hn::Add(most, hn::Log(d, mean)), d, y + i);
  });
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(pass_over_row);
HWY_EXPORT(subtract);
HWY_EXPORT(mix);

float log_sum_exp(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(pass_over_row)(x, count, nullptr);
}

void log_softmax(const float* x, int64_t rows, int64_t count, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += count, y += count) {
    HWY_DYNAMIC_DISPATCH(subtract)(x, log_sum_exp(x, count), count, y);
  }
}

void mix(float share, const float* x, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(mix)(share, x, count, y);
}

float best_of_row(const float* x, int64_t count, int k, Scored* best) {
  Best list(best, k);
  return HWY_DYNAMIC_DISPATCH(pass_over_row)(x, count, &list);
}

}  // namespace residual::kernels
#endif
