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

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

// The best elements of a row in descending order. Equal values keep the order of their offers.
class Best {
 public:
  explicit Best(RowSummary& row) : row_(row) {}

  // Once k elements are found, a value at or below the threshold cannot enter.
  float threshold() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return row_.k == 0 ? kInfinity : full() ? row_.best[row_.k - 1].value : -kInfinity;
  }
  bool full() const { return row_.found == row_.k; }

  void offer(float value, int64_t index) {
    if (full() && !(value > threshold())) return;
    int at = full() ? row_.k - 1 : row_.found++;
    for (; at > 0 && row_.best[at - 1].value < value; --at) row_.best[at] = row_.best[at - 1];
    row_.best[at] = {.value = value, .index = static_cast<int32_t>(index)};
  }

 private:
  RowSummary& row_;
};

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

// Works in blocks that stay in the first-level cache for the second pass.
void add_to_row(const float* x, int64_t count, RowSummary& row) {
  Best best(row);
  for (int64_t first = 0; first < count; first += RowSummary::kPart) {
    const int64_t size = std::min(RowSummary::kPart, count - first);
    const float most = block_maximum(x + first, size);
    if (most > row.most) {
      row.sum *= std::exp(double{row.most} - most);
      row.most = most;
    }
    row.sum += block_sum(x + first, size, row.most);
    if (!best.full() || most > best.threshold()) offer_block(x + first, row.seen, size, best);
    row.seen += size;
  }
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
    const auto most = hn::Max(a, b);  // the larger term is then 1, so the sum cannot underflow
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

HWY_EXPORT(add_to_row);
HWY_EXPORT(subtract);
HWY_EXPORT(mix);

void RowSummary::add(const float* x, int64_t count) {
  const int64_t at = asked.index - seen;
  if (at >= 0 && at < count) asked.value = x[at];
  HWY_DYNAMIC_DISPATCH(add_to_row)(x, count, *this);
}

float RowSummary::log_sum_exp() const { return static_cast<float>(most + std::log(sum)); }

float log_sum_exp(const float* x, int64_t count) { return best_of_row(x, count, 0, nullptr); }

void log_softmax(const float* x, int64_t rows, int64_t count, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += count, y += count) {
    HWY_DYNAMIC_DISPATCH(subtract)(x, log_sum_exp(x, count), count, y);
  }
}

void mix(float share, const float* x, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(mix)(share, x, count, y);
}

float best_of_row(const float* x, int64_t count, int k, Scored* best) {
  RowSummary row = {.k = k, .best = best};
  row.add(x, count);
  return row.log_sum_exp();
}

}  // namespace residual::kernels
#endif
