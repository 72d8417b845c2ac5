#include "kernels/attention.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/simd.h"

#ifndef RESIDUAL_KERNELS_ATTENTION_ONCE
#define RESIDUAL_KERNELS_ATTENTION_ONCE
namespace residual::kernels {
namespace {

constexpr int kPad = 16;  // positions of keys and scores are padded to the widest vector
constexpr int kMostRows = 6;

int padded(int positions) { return (positions + kPad - 1) / kPad * kPad; }

}  // namespace
}  // namespace residual::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

// Turns `count` scores into exp(scale (s - max)) and zeros the padding. Returns 1 / their sum.
float exponentiate(float* scores, int count, float scale) {
  const int end = padded(count);
  std::fill(scores + count, scores + end, -std::numeric_limits<float>::infinity());
  Floats most = hn::Load(kFloats, scores);
  for (int j = kLanes; j < end; j += kLanes) most = hn::Max(most, hn::Load(kFloats, scores + j));
  most = hn::MaxOfLanes(kFloats, most);
  Floats sum = hn::Zero(kFloats);
  for (int j = 0; j < end; j += kLanes) {
    const Floats below = hn::Sub(hn::Load(kFloats, scores + j), most);
    const Floats e = exp_nonpositive(kFloats, hn::Mul(below, hn::Set(kFloats, scale)));
    hn::Store(e, kFloats, scores + j);
    sum = hn::Add(sum, e);
  }
  return 1 / total(sum);
}

// scores[r][j] = q_r . k_j, for kVectors vectors of positions.
template <int kRows, int kVectors>
HWY_INLINE void score_rows(const float* q, int64_t q_stride, const float* keys, int head_width,
                           int end, float* scores) {
  Floats sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(kFloats);
  }
  for (int i = 0; i < head_width; ++i, keys += end) {
    Floats k[kVectors];
    for (int v = 0; v < kVectors; ++v) k[v] = hn::LoadU(kFloats, keys + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Floats x = hn::Set(kFloats, q[r * q_stride + i]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, k[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[r][v], kFloats, scores + int64_t{r} * end + v * kLanes);
    }
  }
}

// out_r = factor_r sum_j weights[r][j] value(j), over kVectors vectors of a head's width.
template <int kRows, int kVectors, class D, class Value>
HWY_INLINE void weigh(D d, const float* weights, int64_t weight_stride, const float* factor,
                      int count, float* out, int64_t out_stride, const Value& value) {
  const auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  hn::Vec<D> sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int j = 0; j < count; ++j) {
    const float* row = value(j);
    for (int v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, row + v * lanes);
      for (int r = 0; r < kRows; ++r) {
        sum[r][v] = hn::MulAdd(hn::Set(d, weights[r * weight_stride + j]), x, sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Mul(sum[r][v], hn::Set(d, factor[r])), d, out + r * out_stride + v * lanes);
    }
  }
}

// Applies weigh() to a whole head: value(j) is row j at the head's first element.
template <int kRows, class Value>
HWY_INLINE void weigh_head(const float* weights, int64_t weight_stride, const float* factor,
                           int count, int head_width, float* out, int64_t out_stride,
                           const Value& value) {
  constexpr int kVectors = kRows <= 3 ? 4 : 2;
  int i = 0;
  const auto at = [&](int j) { return value(j) + i; };
  for (; i + kVectors * kLanes <= head_width; i += kVectors * kLanes) {
    weigh<kRows, kVectors>(kFloats, weights, weight_stride, factor, count, out + i, out_stride, at);
  }
  for (; i + kLanes <= head_width; i += kLanes) {
    weigh<kRows, 1>(kFloats, weights, weight_stride, factor, count, out + i, out_stride, at);
  }
  for (; i < head_width; ++i) {
    weigh<kRows, 1>(kOneFloat, weights, weight_stride, factor, count, out + i, out_stride, at);
  }
}

template <int kRows>
void shared_rows(const SharedAttention& a, int row, int head, float* scores) {
  const int end = padded(a.positions);
  const int64_t first = int64_t{head} * a.heads.width;
  const int64_t first_key = int64_t{head / a.heads.group} * a.heads.width;
  const float* q = a.queries + row * a.query_stride + first;
  const float* keys = a.memory + first_key * (end + a.positions);
  const float* values = keys + int64_t{a.heads.width} * end;
  int j = 0;
  for (; j + 2 * kLanes <= end; j += 2 * kLanes) {
    score_rows<kRows, 2>(q, a.query_stride, keys + j, a.heads.width, end, scores + j);
  }
  for (; j < end; j += kLanes) {
    score_rows<kRows, 1>(q, a.query_stride, keys + j, a.heads.width, end, scores + j);
  }
  float factor[kRows];
  for (int r = 0; r < kRows; ++r) {
    float* of_row = scores + int64_t{r} * end;
    factor[r] = exponentiate(of_row, a.positions, a.scale);
    if (a.probabilities == nullptr) continue;
    float* p = a.probabilities + (int64_t{row + r} * a.heads.count + head) * a.positions;
    for (int i = 0; i < a.positions; ++i) p[i] = of_row[i] * factor[r];
  }
  weigh_head<kRows>(scores, end, factor, a.positions, a.heads.width,
                    a.out + row * a.out_stride + first, a.out_stride,
                    [&](int i) { return values + int64_t{i} * a.heads.width; });
}

// Returns the lane sums of four vectors as four floats.
HWY_INLINE void store_sums(Floats a, Floats b, Floats c, Floats d, float* sums) {
  const hn::RepartitionToWide<decltype(kFloats)> pairs;
  const auto ab = hn::Add(hn::InterleaveLower(kFloats, a, b), hn::InterleaveUpper(kFloats, a, b));
  const auto cd = hn::Add(hn::InterleaveLower(kFloats, c, d), hn::InterleaveUpper(kFloats, c, d));
  const auto ab2 = hn::BitCast(pairs, ab), cd2 = hn::BitCast(pairs, cd);
  const Floats abcd = hn::Add(hn::BitCast(kFloats, hn::InterleaveLower(pairs, ab2, cd2)),
                              hn::BitCast(kFloats, hn::InterleaveUpper(pairs, ab2, cd2)));
  // Each block of four lanes holds a partial sum of all four vectors here.
  HWY_ALIGN float parts[kLanes];
  hn::Store(abcd, kFloats, parts);
  const hn::CappedTag<float, 4> block;
  auto all = hn::Load(block, parts);
  for (int i = 4; i < kLanes; i += 4) all = hn::Add(all, hn::Load(block, parts + i));
  hn::StoreU(all, block, sums);
}

// scores[i] = q . keys[i] for four keys.
HWY_INLINE void score_four(const float* q, const float* const (&keys)[4], int width,
                           float* scores) {
  Floats sum[4] = {hn::Zero(kFloats), hn::Zero(kFloats), hn::Zero(kFloats), hn::Zero(kFloats)};
  int i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    const Floats x = hn::LoadU(kFloats, q + i);
    for (int j = 0; j < 4; ++j) sum[j] = hn::MulAdd(x, hn::LoadU(kFloats, keys[j] + i), sum[j]);
  }
  store_sums(sum[0], sum[1], sum[2], sum[3], scores);
  for (; i < width; ++i) {
    for (int j = 0; j < 4; ++j) scores[j] += q[i] * keys[j][i];
  }
}

}  // namespace

void attend_shared_on_target(const SharedAttention& a, float* scores) {
  using Function = void (*)(const SharedAttention&, int, int, float*);
  static constexpr Function kFunctions[kMostRows] = {shared_rows<1>, shared_rows<2>,
                                                     shared_rows<3>, shared_rows<4>,
                                                     shared_rows<5>, shared_rows<6>};
  for (int head = 0; head < a.heads.count; ++head) {
    for (int row = 0; row < a.rows; row += kMostRows) {
      kFunctions[std::min(kMostRows, a.rows - row) - 1](a, row, head, scores);
    }
  }
}

void attend_cached_on_target(const CachedAttention& a, float* scores) {
  for (int row = 0; row < a.rows; ++row) {
    const int32_t* slots = a.slots + row * a.slot_stride;
    const int count = a.positions[row];
    for (int head = 0; head < a.heads.count; ++head) {
      const int64_t first = int64_t{head} * a.heads.width;
      const float* cache = a.cache + 2 * int64_t{head / a.heads.group} * a.heads.width;
      const auto key = [&](int j) HWY_ATTR {
        return cache + slots[std::min(j, count - 1)] * a.cache_stride;
      };
      for (int j = 0; j < count; j += 4) {
        score_four(a.queries + row * a.query_stride + first,
                   {key(j), key(j + 1), key(j + 2), key(j + 3)}, a.heads.width, scores + j);
      }
      const float factor = exponentiate(scores, count, a.scale);
      const float* values = cache + a.heads.width;
      weigh_head<1>(scores, 0, &factor, count, a.heads.width, a.out + row * a.out_stride + first, 0,
                    [&](int j) HWY_ATTR { return values + slots[j] * a.cache_stride; });
    }
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {
namespace {

// Returns cache-line aligned memory of this thread for `count` floats; it grows to the largest
// request.
float* scratch(int count) {
  thread_local std::vector<float> memory;
  constexpr size_t kAlignment = 16;  // floats
  if (memory.size() < count + kAlignment) memory.resize(count + kAlignment);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (64 - address % 64) % 64 / sizeof(float);
}

}  // namespace

HWY_EXPORT(attend_shared_on_target);
HWY_EXPORT(attend_cached_on_target);

size_t shared_memory_size(Heads heads, int positions) {
  return size_t{1} * heads.keys() * heads.width * (padded(positions) + positions);
}

void fill_shared_memory(Heads heads, const float* keys, const float* values, int64_t stride,
                        int positions, float* memory) {
  const int end = padded(positions);
  for (int head = 0; head < heads.keys(); ++head, keys += heads.width, values += heads.width) {
    for (int i = 0; i < heads.width; ++i, memory += end) {
      for (int j = 0; j < positions; ++j) memory[j] = keys[j * stride + i];
      std::fill(memory + positions, memory + end, 0.0F);
    }
    for (int j = 0; j < positions; ++j, memory += heads.width) {
      std::copy_n(values + j * stride, heads.width, memory);
    }
  }
}

void fill_cache_row(Heads heads, const float* key, const float* value, float* row) {
  for (int i = 0; i < heads.keys() * heads.width; i += heads.width) {
    row = std::copy_n(key + i, heads.width, row);
    row = std::copy_n(value + i, heads.width, row);
  }
}

void attend_shared(const SharedAttention& attention) {
  HWY_DYNAMIC_DISPATCH(attend_shared_on_target)
  (attention, scratch(kMostRows * padded(attention.positions)));
}

void attend_cached(const CachedAttention& attention) {
  if (attention.rows == 0) return;
  const int longest = *std::max_element(attention.positions, attention.positions + attention.rows);
  HWY_DYNAMIC_DISPATCH(attend_cached_on_target)
  (attention, scratch(padded(longest)));
}

}  // namespace residual::kernels
#endif
