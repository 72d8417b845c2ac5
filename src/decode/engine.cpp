#include "decode/engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "model/positions.h"

namespace residual::decode {
namespace {

// Floats between the slots of a cache: with a power of two they would compete for few sets of the
// first-level cache.
constexpr int64_t kCacheLine = 16;

using schemes::Side;
using Sources = std::span<const std::span<const int32_t>>;

int64_t token_count(Sources sources) {
  int64_t count = 0;
  for (const auto& source : sources) count += static_cast<int64_t>(source.size());
  return count;
}

void activate(model::Activation activation, int64_t count, float* x) {
  switch (activation) {
    case model::Activation::relu:
      return kernels::relu(x, count, x);
    case model::Activation::swish:
      return kernels::swish(x, count, x);
    case model::Activation::gelu:
      return kernels::gelu(x, count, x);
    case model::Activation::gelu_tanh:
      return kernels::gelu_tanh(x, count, x);
  }
}

// Of the inner rows of feed-forward blocks, by the team if they are many. With gates, the first
// half of a row becomes its activation times the second half.
void activate(const model::Config& config, float* x, int64_t rows, Team* team) {
  constexpr int64_t kPart = 16;  // rows
  const int64_t width = config.inner_rows();
  run(rows > kPart ? team : nullptr, static_cast<size_t>((rows + kPart - 1) / kPart),
      [&](size_t i) {
        const int64_t first = static_cast<int64_t>(i) * kPart;
        const int64_t count = std::min(kPart, rows - first);
        float* at = x + first * width;
        if (!config.gated) return activate(config.activation, count * width, at);
        for (int64_t row = 0; row < count; ++row, at += width) {
          activate(config.activation, config.inner, at);
          kernels::multiply(at, at + config.inner, config.inner, at);
        }
      });
}

}  // namespace

Engine::Engine(std::shared_ptr<const Weights> weights)
    : weights_(std::move(weights)),
      heads_{.count = static_cast<int>(weights_->config().heads),
             .width = static_cast<int>(weights_->config().head_width()),
             .group = static_cast<int>(weights_->config().heads / weights_->config().kv_heads())},
      scale_(1 / std::sqrt(static_cast<float>(heads_.width))),
      pool_(std::make_unique<RowPool>(weights_->config().width)),
      cache_stride_(static_cast<int64_t>(weights_->decoder().layers.size()) * 2 *
                        weights_->config().kv_width() +
                    kCacheLine) {}

float* Engine::wide(int64_t rows, int64_t columns) {
  const auto size = static_cast<size_t>(rows * columns);
  if (scratch_.wide.size() < size) scratch_.wide.resize(size);
  return scratch_.wide.data();
}

const float* Engine::positions(Side side, int64_t count) {
  const model::Config& config = weights_->config();
  const bool is_rotary = config.positions == model::Positions::rotary;
  const bool is_learned = config.positions == model::Positions::learned;
  const int64_t width = is_rotary ? config.head_width() : config.width;
  auto& known = is_learned && side == Side::decoder ? decoder_positions_ : positions_;
  for (auto i = static_cast<int64_t>(known.size()) / width; i < count; ++i) {
    known.resize((i + 1) * width);
    const auto row = std::span(known).subspan(i * width);
    if (is_rotary) {
      model::rotation(i, config.rotary_base, row);
    } else if (is_learned) {
      stack(side).positions.copy_row(static_cast<int32_t>(i), row.data());
    } else {
      model::sinusoid(i, row, config.form);
    }
  }
  return is_rotary ? nullptr : known.data();
}

void Engine::embed(Side side, std::span<const int32_t> ids, std::span<const int32_t> places,
                   float* x) {
  const int64_t count = places.empty() ? 0 : std::ranges::max(places) + int64_t{1};
  const auto factor = static_cast<float>(weights_->config().embedding_factor());
  stack(side).embedding.embed(ids, places, positions(side, count), factor, x);
}

void Engine::rotate(std::span<const int32_t> places, float* qkv, int64_t stride) const {
  if (weights_->config().positions != model::Positions::rotary) return;
  for (const int32_t place : places) {
    kernels::rotate(positions_.data() + int64_t{place} * heads_.width, heads_.count + heads_.keys(),
                    heads_.width, qkv);
    qkv += stride;
  }
}

Rows Engine::product(const PackedMatrix& matrix, const Rows& x, Team* team,
                     const PackedMatrix* next) {
  Rows y = x.like();
  multiply(matrix, {.x = x.data(), .rows = x.rows(), .y = y.data()}, team, next);
  return y;
}

Rows Engine::feed_forward(const FeedForwardWeights& w, const Rows& x, Team* team,
                          const PackedMatrix* next) {
  // Few enough rows at a time that the inner layer is still in the cache when it is read.
  constexpr int64_t kRows = 256;
  const model::Config& config = weights_->config();
  const bool is_rectified = config.activation == model::Activation::relu && !config.gated;
  Rows y = x.like();
  float* inner = wide(std::min(kRows, x.rows()), w.inner.out());
  for (int64_t first = 0; first < x.rows(); first += kRows) {
    const int64_t rows = std::min(kRows, x.rows() - first);
    const int64_t at = first * x.width();
    multiply(w.inner,
             {.x = x.data() + at,
              .rows = rows,
              .y = inner,
              .epilogue = is_rectified ? kernels::Epilogue::relu : kernels::Epilogue::none},
             team, &w.outer);
    if (!is_rectified) activate(config, inner, rows, team);
    multiply(w.outer,
             {.x = inner,
              .rows = rows,
              .y = y.data() + at,
              .is_sparse = is_rectified,
              .x_stride = w.inner.out()},
             team, next);
  }
  return y;
}

class Engine::EncoderBlocks final : public schemes::Blocks<RowArithmetic> {
 public:
  EncoderBlocks(Engine& engine, Sources sources, Team* team)
      : Blocks(static_cast<int>(2 * engine.weights_->encoder().layers.size()), 2),
        e_(engine),
        sources_(sources),
        team_(team) {}

  Rows operator()(int k, const Rows& x) const override {
    const LayerWeights& layer = e_.weights_->encoder().layers[k / 2];
    return k % 2 == 0 ? self_attention(layer.self, x)
                      : e_.feed_forward(layer.feed_forward, x, team_);
  }

 private:
  Rows self_attention(const SelfAttentionWeights& w, const Rows& x) const {
    const int64_t d = x.width(), kv = e_.kv_width(), stride = d + 2 * kv;
    float* qkv = e_.wide(x.rows(), stride);
    multiply(w.qkv, {.x = x.data(), .rows = x.rows(), .y = qkv}, team_);
    e_.rotate(e_.places_, qkv, stride);
    Rows mixed = x.like();
    int64_t first = 0;
    for (const auto& source : sources_) {
      const auto length = static_cast<int>(source.size());
      const float* rows = qkv + first * stride;
      e_.shared_.resize(kernels::shared_memory_size(e_.heads_, length));
      kernels::fill_shared_memory(e_.heads_, rows + d, rows + d + kv, stride, length,
                                  e_.shared_.data());
      kernels::attend_shared({.heads = e_.heads_,
                              .scale = e_.scale_,
                              .queries = rows,
                              .query_stride = stride,
                              .rows = length,
                              .memory = e_.shared_.data(),
                              .positions = length,
                              .out = mixed.data() + first * d,
                              .out_stride = d});
      first += length;
    }
    return e_.product(w.output, mixed, team_);
  }

  Engine& e_;
  Sources sources_;
  Team* team_;
};

class Engine::DecoderBlocks final : public schemes::Blocks<RowArithmetic> {
 public:
  DecoderBlocks(Engine& engine, const Step& step, Team* team)
      : Blocks(
            static_cast<int>(engine.weights_->decoder().layers.size()) * blocks_per_layer(engine),
            blocks_per_layer(engine)),
        e_(engine),
        step_(step),
        team_(team) {}

  Rows operator()(int k, const Rows& x) const override {
    const int l = k / per_layer();
    const auto& layers = e_.weights_->decoder().layers;
    const LayerWeights& layer = layers[l];
    if (opens_layer(k)) return self_attention(layer, l, x);
    if (!closes_layer(k)) return cross_attention(layer, l, x);
    const bool is_last = k + 1 == size();
    return e_.feed_forward(
        layer.feed_forward, x, team_,
        is_last ? e_.weights_->output_layer().likely() : &layers[l + 1].self.qkv);
  }

 private:
  static int blocks_per_layer(const Engine& engine) {
    return model::stack(engine.weights_->config(), schemes::Side::decoder).blocks_per_layer;
  }

  Rows self_attention(const LayerWeights& layer, int l, const Rows& x) const {
    const SelfAttentionWeights& w = layer.self;
    const int64_t d = x.width(), kv = e_.kv_width(), stride = d + 2 * kv;
    float* qkv = e_.wide(x.rows(), stride);
    multiply(w.qkv, {.x = x.data(), .rows = x.rows(), .y = qkv}, team_, &w.output);
    e_.rotate(e_.places_, qkv, stride);
    float* cache = reinterpret_cast<float*>(e_.cache_.data()) + 2 * kv * l;
    for (int64_t i = 0; i < x.rows(); ++i) {
      const int32_t slot = step_.slots[i * step_.slot_stride + step_.positions[i] - 1];
      const float* const key = qkv + i * stride + d;
      kernels::fill_cache_row(e_.heads_, key, key + kv, cache + slot * e_.cache_stride_);
    }
    Rows mixed = x.like();
    kernels::attend_cached({.heads = e_.heads_,
                            .scale = e_.scale_,
                            .queries = qkv,
                            .query_stride = stride,
                            .rows = static_cast<int>(x.rows()),
                            .cache = cache,
                            .cache_stride = e_.cache_stride_,
                            .slots = step_.slots,
                            .slot_stride = step_.slot_stride,
                            .positions = step_.positions.data(),
                            .out = mixed.data(),
                            .out_stride = d});
    return e_.product(w.output, mixed, team_,
                      per_layer() == 2 ? &layer.feed_forward.inner : &layer.cross.query);
  }

  Rows cross_attention(const LayerWeights& layer, int l, const Rows& x) const {
    const CrossAttentionWeights& w = layer.cross;
    const int64_t d = x.width();
    const Rows queries = e_.product(w.query, x, team_, &w.output);
    const bool is_wanted = step_.attention != nullptr && step_.attention_layer == l;
    Rows mixed = x.like();
    int64_t first = 0;
    for (const auto& sentence : step_.sentences) {
      const Memory& memory = *sentence.memory;
      kernels::SharedAttention attention = {.heads = e_.heads_,
                                            .scale = e_.scale_,
                                            .queries = queries.data() + first * d,
                                            .query_stride = d,
                                            .rows = sentence.rows,
                                            .memory = memory.layer(l),
                                            .positions = memory.positions(),
                                            .out = mixed.data() + first * d,
                                            .out_stride = d};
      if (is_wanted) {
        e_.probabilities_.resize(int64_t{sentence.rows} * e_.heads_.count * memory.positions());
        attention.probabilities = e_.probabilities_.data();
      }
      kernels::attend_shared(attention);
      if (is_wanted) keep_attention(sentence.rows, first, memory.positions());
      first += sentence.rows;
    }
    return e_.product(w.output, mixed, team_, &layer.feed_forward.inner);
  }

  // The mean of the heads, into the rows from `first` on.
  void keep_attention(int rows, int64_t first, int positions) const {
    const float* probability = e_.probabilities_.data();
    for (int64_t i = first; i < first + rows; ++i) {
      float* mean = step_.attention + i * step_.attention_stride;
      std::fill_n(mean, positions, 0.0F);
      for (int head = 0; head < e_.heads_.count; ++head) {
        for (int j = 0; j < positions; ++j) {
          mean[j] += *probability++ / static_cast<float>(e_.heads_.count);
        }
      }
    }
  }

  Engine& e_;
  const Step& step_;
  Team* team_;
};

Rows Engine::encode_rows(Sources sources, Team* team) {
  const StackWeights& stack = weights_->encoder();
  Rows x = pool_->take(token_count(sources));
  places_.resize(x.rows());
  int64_t first = 0;
  for (const auto& source : sources) {
    const auto places = std::span(places_).subspan(first, source.size());
    std::iota(places.begin(), places.end(), 0);
    embed(Side::encoder, source, places, x.data() + first * x.width());
    first += static_cast<int64_t>(source.size());
  }
  if (weights_->config().has_bert_ends()) {
    kernels::layer_norm(weights_->bert_ends().embedding_norm, x.data(), x.rows(), x.width(),
                        x.data());
  }
  return stack.scheme->forward(std::move(x), EncoderBlocks(*this, sources, team));
}

Rows Engine::predictors(const Rows& encoded, Team* team) {
  if (!weights_->config().has_bert_ends()) return encoded;
  const BertEnds& ends = weights_->bert_ends();
  Rows y = product(ends.head, encoded, team);
  activate(weights_->config().activation, y.size(), y.data());
  kernels::layer_norm(ends.head_norm, y.data(), y.rows(), y.width(), y.data());
  return y;
}

std::shared_ptr<std::vector<float>> Engine::memory_buffer(int64_t size) {
  // A free one that is large enough, but not by far: short sentences would hold what long ones had.
  constexpr int64_t kSmall = 1 << 18, kMostFree = 32 << 20;  // numbers
  int64_t in_vain = 0;
  std::shared_ptr<std::vector<float>> best;
  for (const auto& buffer : buffers_) {
    const auto has = static_cast<int64_t>(buffer->size());
    if (buffer.use_count() > 1) continue;
    in_vain += has;
    if (has < size || has > 8 * size + kSmall) continue;
    if (!best || buffer->size() < best->size()) best = buffer;
  }
  if (best) return best;
  if (in_vain > kMostFree)
    std::erase_if(buffers_, [](const auto& b) { return b.use_count() == 1; });
  return buffers_.emplace_back(std::make_shared<std::vector<float>>(size));
}

std::vector<Memory> Engine::encode(Sources sources, Team* team) {
  if (!weights_->config().has_encoder()) return std::vector<Memory>(sources.size());
  const Rows encoded = encode_rows(sources, team);
  const int64_t kv = kv_width();
  int64_t stride = 0;
  for (const auto& source : sources) {
    stride +=
        static_cast<int64_t>(kernels::shared_memory_size(heads_, static_cast<int>(source.size())));
  }
  const auto& layers = weights_->decoder().layers;
  const auto owner = memory_buffer(stride * static_cast<int64_t>(layers.size()));

  std::vector<Memory> memories(sources.size());
  for (size_t l = 0; l < layers.size(); ++l) {
    float* const keys = wide(encoded.rows(), 2 * kv);
    float* const values = keys + encoded.rows() * kv;
    const CrossAttentionWeights& w = layers[l].cross;
    multiply(w.key, {.x = encoded.data(), .rows = encoded.rows(), .y = keys}, team);
    multiply(w.value, {.x = encoded.data(), .rows = encoded.rows(), .y = values}, team);
    float* memory = owner->data() + static_cast<int64_t>(l) * stride;
    int64_t first = 0;
    for (size_t s = 0; s < sources.size(); ++s) {
      const auto length = static_cast<int>(sources[s].size());
      kernels::fill_shared_memory(heads_, keys + first * kv, values + first * kv, kv, length,
                                  memory);
      if (l == 0) {
        memories[s].owner_ = owner;
        memories[s].first_layer_ = memory;
        memories[s].layer_stride_ = stride;
        memories[s].positions_ = length;
      }
      memory += kernels::shared_memory_size(heads_, length);
      first += length;
    }
  }
  return memories;
}

Rows Engine::decode(const Step& step, Team* team) {
  const size_t size = step.slot_count * cache_stride_ * sizeof(float);
  if (cache_.size() < size) cache_.grow(std::max(size, 2 * cache_.size()));
  const auto rows = static_cast<int64_t>(step.tokens.size());
  places_.resize(rows);
  for (int64_t i = 0; i < rows; ++i) places_[i] = step.positions[i] - 1;
  Rows x = pool_->take(rows);
  const StackWeights& stack = weights_->decoder();
  embed(Side::decoder, step.tokens, places_, x.data());
  return stack.scheme->forward(std::move(x), DecoderBlocks(*this, step, team));
}

void Engine::release_large() {
  constexpr size_t kOrdinary = 256 << 20;  // what batches of a base model may take
  if (cache_.size() > kOrdinary) cache_ = Pages();
}

void Engine::project(const Rows& hidden, int64_t first, int64_t count, float* logits,
                     Team* team) const {
  weights_->output_layer().project(hidden.data() + first * hidden.width(), count, logits, team);
}

void Engine::summarise(const Rows& hidden, int64_t first, std::span<kernels::RowSummary> rows,
                       Team* team) {
  weights_->output_layer().summarise(hidden.data() + first * hidden.width(), rows, scratch_, team,
                                     first_product());
}

void Engine::summarise(const PackedMatrix& output, const Rows& hidden, int64_t first,
                       std::span<kernels::RowSummary> rows, Team* team) {
  OutputLayer::summarise(output, hidden.data() + first * hidden.width(), rows, scratch_, team,
                         first_product());
}

const PackedMatrix* Engine::first_product() const {
  const auto& config = weights_->config();
  const StackWeights& stack = config.has_decoder() ? weights_->decoder() : weights_->encoder();
  return &stack.layers.front().self.qkv;
}

}  // namespace residual::decode
