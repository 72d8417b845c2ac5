#include "data/batcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/random.h"

namespace residual::data {
namespace {

constexpr int64_t kMostEpochs = 1'000'000;  // keeps products of epochs and pairs within 64 bits
constexpr int64_t kMostPairs = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMostTokens = 1 << 30;  // offsets within a batch have 32 bits

// Keys of the two uses of randomness here; seeds count from small numbers, these do not.
constexpr uint64_t kCompositionKey = 0x636f6d706f736521;
constexpr uint64_t kOrderKey = 0x6f72646572732121;

// Low 16 bits are compose_by_length's own.
uint64_t stream(size_t input, int64_t pass) {
  return static_cast<uint64_t>(input) << 48 | static_cast<uint64_t>(pass) << 16;
}

void check(const BatchOptions& o) {
  require(o.max_tokens >= 1 && o.max_tokens <= kMostTokens,
          "max_tokens is {}; it must be from 1 to {}", o.max_tokens, kMostTokens);
  require(o.max_sentences >= 0, "max_sentences is {}; it must not be negative", o.max_sentences);
  require(o.max_source >= 1 && o.max_target >= 1,
          "max_source is {} and max_target is {}; both must be at least 1", o.max_source,
          o.max_target);
  require(o.sentence_multiple >= 1, "sentence_multiple is {}; it must be at least 1",
          o.sentence_multiple);
  require(o.temperature.start >= 0.01 && o.temperature.end >= 0.01,
          "temperature goes from {} to {}; it must be at least 0.01", o.temperature.start,
          o.temperature.end);
  require(o.temperature.annealing_epochs >= 0 && o.temperature.annealing_epochs <= kMostEpochs,
          "the temperature is annealed over {} epochs; it must be from 0 to {}",
          o.temperature.annealing_epochs, kMostEpochs);
  require(
      o.temperature.annealing_epochs == 0 ||
          (std::isfinite(o.temperature.start) && std::isfinite(o.temperature.end)),
      "temperature goes from {} to {}; it must be finite to be annealed: use a large number, or "
      "0 annealing epochs",
      o.temperature.start, o.temperature.end);
}

}  // namespace

Batcher::Batcher(std::vector<BatchInput> inputs, BatchOptions options)
    : inputs_(std::move(inputs)), options_(options) {
  check(options_);
  require(!inputs_.empty(), "no corpus to make batches from");
  require(inputs_.size() < 65536, "{} corpora; at most 65535 can be mixed", inputs_.size());
  require(inputs_.size() == 1 || options_.composition != Composition::fairseq,
          "fairseq's batch composition takes one corpus, not {}; use composition residual",
          inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) kept_.push_back(count_kept(i));
}

BatchLimits Batcher::limits(size_t input) const {
  return {.max_tokens = options_.max_tokens,
          .max_sentences = options_.max_sentences,
          .max_source = options_.max_source,
          .max_target = options_.max_target,
          .source_prefix = static_cast<int64_t>(inputs_[input].source_prefix.size())};
}

int64_t Batcher::count_kept(size_t input) const {
  const Corpus& corpus = *inputs_[input].corpus;
  const std::string name = corpus.path().string();
  require(corpus.size() > 0, "{}: has no sentence pairs", name);
  require(corpus.size() <= kMostPairs, "{}: has {} pairs; at most {} can be shuffled: split it",
          name, corpus.size(), kMostPairs);
  const BatchLimits limits = this->limits(input);
  int64_t kept = 0;
  for (int64_t pair = 0; pair < corpus.size(); ++pair) {
    const Corpus::Lengths at = limits.lengths(corpus, pair);
    if (!limits.keeps(at)) continue;
    ++kept;
    if (std::max(at.source, at.target) > options_.max_tokens) {
      fail(
          "{}: the pair in line {} has {} source and {} target tokens, a batch at most {}; raise "
          "max_tokens, or lower max_source or max_target to leave such pairs out",
          name, corpus.line(pair), at.source, at.target, options_.max_tokens);
    }
  }
  require(kept > 0, "{}: none of its {} pairs has at most {} source and {} target tokens", name,
          corpus.size(), options_.max_source, options_.max_target);
  if (kept < corpus.size()) {
    log::info("{}: left out {} of {} pairs with more than {} source or {} target tokens", name,
              format_count(static_cast<uint64_t>(corpus.size() - kept)),
              format_count(static_cast<uint64_t>(corpus.size())), options_.max_source,
              options_.max_target);
  }
  return kept;
}

void Batcher::plan(int64_t epoch) {
  require(epoch >= 1 && epoch <= kMostEpochs, "epoch {} is not between 1 and {}", epoch,
          kMostEpochs);
  if (epoch == planned_epoch_) return;
  planned_epoch_ = 0;
  batches_.clear();
  if (options_.composition == Composition::fairseq) {
    plan_as_fairseq(epoch);
  } else {
    plan_mixture(epoch);
  }
  planned_epoch_ = epoch;
}

void Batcher::plan_mixture(int64_t epoch) {
  pairs_ = {};  // two epochs at once would double the memory
  const std::vector<int64_t> before = quotas_before(kept_, options_.temperature, epoch);
  const std::vector<int64_t> now = quotas(kept_, options_.temperature.at(epoch));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const int64_t size = kept_[i];
    const int64_t end = before[i] + now[i];
    for (int64_t at = before[i]; at < end;) {
      const int64_t pass = at / size;
      const int64_t pass_end = std::min(end, (pass + 1) * size);
      plan_pass(i, pass, at - pass * size, pass_end - pass * size);
      at = pass_end;
    }
  }
  Random(options_.seed ^ kOrderKey, stream(0xffff, epoch)).shuffle(std::span(batches_));
}

// The batches of one pass through a corpus that begin within pairs [from, to) of it, if its
// batches were all of the same size.
void Batcher::plan_pass(size_t input, int64_t pass, int64_t from, int64_t to) {
  Grouping made = compose_by_length(*inputs_[input].corpus, limits(input),
                                    options_.seed ^ kCompositionKey, stream(input, pass));
  const uint64_t count = made.ends.size();
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  Random(options_.seed ^ kOrderKey, stream(input, pass)).shuffle(std::span(order));

  const bool whole = from == 0 && to == kept_[input];
  const uint64_t base = pairs_.size();
  const auto boundary = [&](int64_t pair) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(Wide{count} * static_cast<uint64_t>(pair) /
                                 static_cast<uint64_t>(kept_[input]));
  };
  for (uint64_t k = boundary(from); k < boundary(to); ++k) {
    const uint64_t begin = order[k] == 0 ? 0 : made.ends[order[k] - 1];
    const uint64_t end = made.ends[order[k]];
    batches_.push_back({.begin = whole ? base + begin : pairs_.size(),
                        .size = static_cast<uint32_t>(end - begin),
                        .corpus = static_cast<uint32_t>(input)});
    if (!whole) {
      pairs_.insert(pairs_.end(), made.pairs.begin() + static_cast<ptrdiff_t>(begin),
                    made.pairs.begin() + static_cast<ptrdiff_t>(end));
    }
  }
  if (whole && base == 0) {
    pairs_ = std::move(made.pairs);
  } else if (whole) {
    pairs_.insert(pairs_.end(), made.pairs.begin(), made.pairs.end());
  }
}

void Batcher::plan_as_fairseq(int64_t epoch) {
  const uint64_t seed = options_.seed + static_cast<uint64_t>(epoch);
  require(options_.seed < seed && seed <= std::numeric_limits<uint32_t>::max(),
          "seed {} in epoch {}: fairseq's seeds have 32 bits; use a smaller one", options_.seed,
          epoch);
  if (fairseq_.ends.empty()) {
    fairseq_ = compose_as_fairseq(*inputs_[0].corpus, limits(0),
                                  static_cast<uint32_t>(options_.seed), options_.sentence_multiple);
    pairs_ = std::move(fairseq_.pairs);
  }
  std::vector<uint32_t> order(fairseq_.ends.size());
  std::iota(order.begin(), order.end(), 0u);
  numpy_shuffle(order, static_cast<uint32_t>(seed));
  for (const uint32_t k : order) {
    const uint64_t begin = k == 0 ? 0 : fairseq_.ends[k - 1];
    batches_.push_back(
        {.begin = begin, .size = static_cast<uint32_t>(fairseq_.ends[k] - begin), .corpus = 0});
  }
}

int64_t Batcher::batches_in_epoch(int64_t epoch) {
  plan(epoch);
  return static_cast<int64_t>(batches_.size());
}

void Batcher::append(const Planned& planned, int64_t epoch, int64_t pair, Batch& batch) const {
  const BatchInput& input = inputs_[planned.corpus];
  batch.source.insert(batch.source.end(), input.source_prefix.begin(), input.source_prefix.end());
  const size_t source = batch.source.size(), target = batch.target.size();
  input.corpus->append(pair, batch.source, batch.target);
  const auto draw = [&](uint64_t side) {
    const uint64_t place[] = {planned.corpus, static_cast<uint64_t>(epoch),
                              static_cast<uint64_t>(pair), side};
    return checksum({reinterpret_cast<const char*>(place), sizeof(place)});
  };
  if (input.source_dropout) {
    const auto prefix = static_cast<int64_t>(input.source_prefix.size());
    input.source_dropout->apply(draw(0), source, options_.max_source - prefix, batch.source);
  }
  if (input.target_dropout) {
    input.target_dropout->apply(draw(1), target, options_.max_target, batch.target);
  }
}

Batch Batcher::get(BatchPosition position) {
  const int64_t count = batches_in_epoch(position.epoch);
  require(position.batch >= 0 && position.batch < count, "epoch {} has no batch {}; it has {}",
          position.epoch, position.batch, count);
  const Planned& planned = batches_[static_cast<size_t>(position.batch)];
  Batch batch;
  batch.corpus = static_cast<int>(planned.corpus);
  batch.source_offsets.reserve(planned.size + 1);
  batch.target_offsets.reserve(planned.size + 1);
  batch.source_offsets.push_back(0);
  batch.target_offsets.push_back(0);
  batch.pairs.assign(pairs_.begin() + static_cast<ptrdiff_t>(planned.begin),
                     pairs_.begin() + static_cast<ptrdiff_t>(planned.begin + planned.size));
  for (const int64_t pair : batch.pairs) {
    append(planned, position.epoch, pair, batch);
    batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
    batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
  }
  return batch;
}

Batch Batcher::next() {
  Batch batch = get(position());
  ++position_.batch;
  return batch;
}

BatchPosition Batcher::position() {
  // An epoch of a mixture may be empty when every share of it is less than a batch.
  while (position_.batch >= batches_in_epoch(position_.epoch)) {
    position_ = {.epoch = position_.epoch + 1, .batch = 0};
  }
  return position_;
}

void Batcher::seek(BatchPosition position) {
  const int64_t count = batches_in_epoch(position.epoch);
  require(position.batch >= 0 && position.batch <= count, "epoch {} has no batch {}; it has {}",
          position.epoch, position.batch, count);
  position_ = position;
}

}  // namespace residual::data
