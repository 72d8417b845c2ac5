#pragma once

#include <cstddef>
#include <cstdint>

// Attention for decoding: softmax(scale q K^T) V per head. Rows hold all heads side by side: head h
// of a row is elements [h * head_width, (h + 1) * head_width). A query's result depends only on its
// own keys and values, bit for bit. Rows of keys and values have Heads::keys() heads.
namespace residual::kernels {

struct Heads {
  int count = 1;
  int width = 64;
  int group = 1;  // consecutive heads of queries that share a head of keys and values

  int keys() const { return count / group; }
};

// Keys and values that several queries share are stored in the order of reading: for each head,
// keys [head_width][positions padded to 16], so that 16 positions are one vector, then values
// [positions][head_width]. shared_memory_size() is the number of elements for one sentence.
size_t shared_memory_size(Heads heads, int positions);
// Fills this memory from keys and values, each [positions, stride].
void fill_shared_memory(Heads heads, const float* keys, const float* values, int64_t stride,
                        int positions, float* memory);

// Attention of all queries of one sentence to all of its positions: the encoder's self-attention,
// or one step of the decoder's cross-attention for all hypotheses of a sentence.
struct SharedAttention {
  Heads heads;
  float scale = 1;                 // factor on the scores; usually 1 / sqrt(head_width)
  const float* queries = nullptr;  // [rows, query_stride]
  int64_t query_stride = 0;
  int rows = 0;
  const float* memory = nullptr;  // shared_memory_size() elements
  int positions = 0;
  float* out = nullptr;  // [rows, out_stride]
  int64_t out_stride = 0;
  float* probabilities = nullptr;  // [rows, heads, positions], or null
};
void attend_shared(const SharedAttention& attention);

// Attention of one query per hypothesis to its decoded prefix. Keys and values of all steps lie in
// one cache of rows [heads][key, value], written once and never moved: hypothesis i's j-th key is
// in row slots[i * slot_stride + j]. When the beam reorders its hypotheses, only the slots are
// copied. A head's key and value are adjacent because memory is read sequentially: apart they take
// twice the time. A cache_stride that is not a multiple of a large power of two spreads the rows
// over the sets of the first-level cache, which is up to a fifth faster.
struct CachedAttention {
  Heads heads;
  float scale = 1;
  const float* queries = nullptr;  // [rows, query_stride]
  int64_t query_stride = 0;
  int rows = 0;
  const float* cache = nullptr;  // [slots, cache_stride]
  int64_t cache_stride = 0;
  const int32_t* slots = nullptr;  // [rows, slot_stride]
  int64_t slot_stride = 0;
  const int32_t* positions = nullptr;  // [rows]: number of keys of each hypothesis, at least 1
  float* out = nullptr;                // [rows, out_stride]
  int64_t out_stride = 0;
};
void attend_cached(const CachedAttention& attention);
// Writes a row of that cache from a key and a value of all heads.
void fill_cache_row(Heads heads, const float* key, const float* value, float* row);

}  // namespace residual::kernels
