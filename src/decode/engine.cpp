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

using Sources = std::span<const std::span<const int32_t>>;

int64_t token_count(Sources sources) {
  int64_t count = 0;
  for (const auto& source : sources) count += static_cast<int64_t>(source.size());
  return count;
}

// Calls task(i) for each i below `count`.
template <class Task>
void run(Team* team, size_t count, const Task& task) {
  if (team != nullptr) return team->run(static_cast<uint32_t>(count), task);
  for (size_t i = 0; i < count; ++i) task(i);
}

// Of a matrix, by the team if it is large.
void swish(float* x, int64_t rows, int64_t width, Team* team) {
  constexpr int64_t kPart = 16;  // rows
  run(rows > kPart ? team : nullptr, static_cast<size_t>((rows + kPart - 1) / kPart),
      [&](size_t i) {
        const int64_t first = static_cast<int64_t>(i) * kPart;
        float* const at = x + first * width;
        kernels::swish(at, std::min(kPart, rows - first) * width, at);
      });
}

// As many symbols as hold most of the probability where it is not spread out; and one less than a
// vector has, for the one that is asked for.
constexpr int kCorrected = 15;

// What a row's logits x W^T are, of which `near` knows the best and a normaliser with about W. The
// best are ranked by W. The share of the first of them in the normaliser is W's: always as many, so
// that a symbol's probability does not depend on how many are asked for.
void correct(kernels::RowSummary& near, const Weights& w, Weights::Access access, const float* x,
             kernels::RowSummary& row) {
  std::array<int32_t, kernels::kMostBest + 1> ids;
  std::array<float, kernels::kMostBest + 1> logits;
  const std::span best(near.best, near.found);
  std::ranges::transform(best, ids.begin(), &kernels::Scored::index);
  ids[best.size()] = near.asked.index;
  w.likely_logits(x, std::span(ids).first(best.size() + 1), access, logits.data());

  const auto share = [&](float logit) { return std::exp(double{logit} - near.most); };
  row.most = near.most;
  row.sum = near.sum;
  for (size_t i = 0; i < best.size(); ++i) {
    if (i < kCorrected) row.sum += share(logits[i]) - share(best[i].value);
    best[i].value = logits[i];
  }
  row.asked.value = logits[best.size()];
  // One that is not a number cannot be sorted, and says that the row is not to be trusted; so does
  // an infinite one.
  const auto is_number = [](const kernels::Scored& each) {
    return each.value < std::numeric_limits<float>::infinity();
  };
  if (!std::ranges::all_of(best, is_number)) row.sum = std::numeric_limits<double>::quiet_NaN();
  if (!std::isnan(row.sum)) {
    std::ranges::sort(best, [](const kernels::Scored& a, const kernels::Scored& b) {
      return a.value != b.value ? a.value > b.value : a.index < b.index;
    });
  }
  row.found = std::min(row.k, near.found);
  row.seen = near.seen;
  std::copy_n(best.begin(), row.found, row.best);
}

}  // namespace

Engine::Engine(std::shared_ptr<const Weights> weights)
    : weights_(std::move(weights)),
      heads_{static_cast<int>(weights_->config().heads),
             static_cast<int>(weights_->config().head_width())},
      scale_(1 / std::sqrt(static_cast<float>(heads_.width))),
      pool_(std::make_unique<RowPool>(weights_->config().width)),
      cache_stride_(static_cast<int64_t>(weights_->decoder().layers.size()) * 2 *
                        weights_->config().width +
                    kCacheLine) {}

float* Engine::wide(int64_t rows, int64_t columns) {
  const auto size = static_cast<size_t>(rows * columns);
  if (wide_.size() < size) wide_.resize(size);
  return wide_.data();
}

const float* Engine::positions(int64_t count) {
  const int64_t d = weights_->config().width;
  for (auto i = static_cast<int64_t>(positions_.size()) / d; i < count; ++i) {
    positions_.resize((i + 1) * d);
    model::sinusoid(i, std::span(positions_).subspan(i * d), weights_->config().form);
  }
  return positions_.data();
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
  const bool is_rectified = weights_->config().activation == model::Activation::relu;
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
    if (!is_rectified) swish(inner, rows, w.inner.out(), team);
    multiply(w.outer, {.x = inner, .rows = rows, .y = y.data() + at, .is_sparse = is_rectified},
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
    const int64_t d = x.width();
    float* qkv = e_.wide(x.rows(), 3 * d);
    multiply(w.qkv, {.x = x.data(), .rows = x.rows(), .y = qkv}, team_);
    Rows mixed = x.like();
    int64_t first = 0;
    for (const auto& source : sources_) {
      const auto length = static_cast<int>(source.size());
      const float* rows = qkv + first * 3 * d;
      e_.shared_.resize(kernels::shared_memory_size(e_.heads_, length));
      kernels::fill_shared_memory(e_.heads_, rows + d, rows + 2 * d, 3 * d, length,
                                  e_.shared_.data());
      kernels::attend_shared({.heads = e_.heads_,
                              .scale = e_.scale_,
                              .queries = rows,
                              .query_stride = 3 * d,
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
      : Blocks(static_cast<int>(3 * engine.weights_->decoder().layers.size()), 3),
        e_(engine),
        step_(step),
        team_(team) {}

  Rows operator()(int k, const Rows& x) const override {
    const int l = k / 3;
    const auto& layers = e_.weights_->decoder().layers;
    const LayerWeights& layer = layers[l];
    if (k % 3 == 0) return self_attention(layer, l, x);
    if (k % 3 == 1) return cross_attention(layer, l, x);
    const bool is_last = k + 1 == 3 * static_cast<int>(layers.size());
    return e_.feed_forward(layer.feed_forward, x, team_,
                           is_last ? e_.weights_->likely_output() : &layers[l + 1].self.qkv);
  }

 private:
  Rows self_attention(const LayerWeights& layer, int l, const Rows& x) const {
    const SelfAttentionWeights& w = layer.self;
    const int64_t d = x.width();
    float* qkv = e_.wide(x.rows(), 3 * d);
    multiply(w.qkv, {.x = x.data(), .rows = x.rows(), .y = qkv}, team_, &w.output);
    float* cache = reinterpret_cast<float*>(e_.cache_.data()) + 2 * d * l;
    for (int64_t i = 0; i < x.rows(); ++i) {
      const int32_t slot = step_.slots[i * step_.slot_stride + step_.positions[i] - 1];
      const float* const key = qkv + i * 3 * d + d;
      kernels::fill_cache_row(e_.heads_, key, key + d, cache + slot * e_.cache_stride_);
    }
    Rows mixed = x.like();
    kernels::attend_cached({.heads = e_.heads_,
                            .scale = e_.scale_,
                            .queries = qkv,
                            .query_stride = 3 * d,
                            .rows = static_cast<int>(x.rows()),
                            .cache = cache,
                            .cache_stride = e_.cache_stride_,
                            .slots = step_.slots,
                            .slot_stride = step_.slot_stride,
                            .positions = step_.positions.data(),
                            .out = mixed.data(),
                            .out_stride = d});
    return e_.product(w.output, mixed, team_, &layer.cross.query);
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
  int64_t first = 0;
  for (const auto& source : sources) {
    const auto length = static_cast<int64_t>(source.size());
    places_.resize(length);
    std::iota(places_.begin(), places_.end(), 0);
    stack.embedding.embed(source, places_, positions(length), x.data() + first * x.width());
    first += length;
  }
  return stack.scheme->forward(std::move(x), EncoderBlocks(*this, sources, team));
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
  const Rows encoded = encode_rows(sources, team);
  const int64_t d = encoded.width();
  int64_t stride = 0;
  for (const auto& source : sources) {
    stride +=
        static_cast<int64_t>(kernels::shared_memory_size(heads_, static_cast<int>(source.size())));
  }
  const auto& layers = weights_->decoder().layers;
  const auto owner = memory_buffer(stride * static_cast<int64_t>(layers.size()));

  std::vector<Memory> memories(sources.size());
  for (size_t l = 0; l < layers.size(); ++l) {
    const Rows keys = product(layers[l].cross.key, encoded, team);
    const Rows values = product(layers[l].cross.value, encoded, team);
    float* memory = owner->data() + static_cast<int64_t>(l) * stride;
    int64_t first = 0;
    for (size_t s = 0; s < sources.size(); ++s) {
      const auto length = static_cast<int>(sources[s].size());
      kernels::fill_shared_memory(heads_, keys.data() + first * d, values.data() + first * d, d,
                                  length, memory);
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
  const int64_t seen = rows == 0 ? 0 : std::ranges::max(step.positions);
  stack.embedding.embed(step.tokens, places_, positions(seen), x.data());
  return stack.scheme->forward(std::move(x), DecoderBlocks(*this, step, team));
}

void Engine::release_large() {
  constexpr size_t kOrdinary = 256 << 20;  // what batches of a base model may take
  if (cache_.size() > kOrdinary) cache_ = Pages();
}

void Engine::project(const Rows& hidden, int64_t first, int64_t count, float* logits,
                     Team* team) const {
  multiply(weights_->output(),
           {.x = hidden.data() + first * hidden.width(), .rows = count, .y = logits}, team);
}

void Engine::summarise(const Rows& hidden, int64_t first, std::span<kernels::RowSummary> rows,
                       Team* team) {
  if (!weights_->has_screen()) return summarise(weights_->output(), hidden, first, rows, team);
  // More than are wanted: they may change places with the last of those.
  constexpr int kMore = kernels::kMostBest - kMostBest;
  screened_.clear();
  for (const auto& row : rows) {
    screened_.push_back(
        {.k = std::max(row.k + kMore, kCorrected), .asked = {.index = row.asked.index}});
  }
  best_screened_.resize(rows.size() * kernels::kMostBest);
  for (size_t i = 0; i < rows.size(); ++i) {
    screened_[i].best = best_screened_.data() + i * kernels::kMostBest;
  }
  summarise(weights_->screen(), hidden, first, screened_, team);
  // A single sentence is the smallest that a process can be, and can wait for a few reads.
  constexpr size_t kFew = 16;
  const auto access = rows.size() <= kFew ? Weights::Access::read : Weights::Access::map;
  run(team, rows.size(), [&](size_t i) {
    correct(screened_[i], *weights_, access,
            hidden.data() + (first + static_cast<int64_t>(i)) * hidden.width(), rows[i]);
  });
}

// Logits are made some columns at a time, and looked at while those are in the cache.
void Engine::summarise(const PackedMatrix& matrix, const Rows& hidden, int64_t first,
                       std::span<kernels::RowSummary> rows, Team* team) {
  constexpr int64_t kLogits = 256 << 10;  // at a time: 1 MB
  constexpr int64_t kPart = kernels::RowSummary::kPart;
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) return;
  const int64_t stride = std::max<int64_t>(kLogits / count / kPart, 1) * kPart;
  float* logits = wide(count, std::min(stride, int64_t{matrix.panels()} * kernels::kPanel));
  for (int64_t column = 0; column < matrix.out(); column += stride) {
    const int64_t columns = std::min<int64_t>(stride, matrix.out() - column);
    const bool is_last = column + columns == matrix.out();
    multiply(matrix,
             {.x = hidden.data() + first * hidden.width(),
              .rows = count,
              .y = logits,
              .y_stride = columns,
              .y_column = column,
              .first_panel = static_cast<int>(column / kernels::kPanel),
              .last_panel = static_cast<int>((column + columns - 1) / kernels::kPanel + 1)},
             team, is_last ? &weights_->decoder().layers.front().self.qkv : nullptr);
    run(team, rows.size(),
        [&](size_t i) { rows[i].add(logits + static_cast<int64_t>(i) * columns, columns); });
  }
}

}  // namespace residual::decode
