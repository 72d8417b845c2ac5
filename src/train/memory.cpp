#include "train/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "base/log.h"
#include "model/parameters.h"

namespace residual::train {
namespace {

constexpr int64_t kFloat = 4;
constexpr int64_t kTypicalLength = 32;  // tokens of a sentence, for attention's square
constexpr double kMostOfIt = 0.8;

// Floats that a block of each kind keeps per token for its backward pass, its residual add and
// norm included, in units of the model's width d or the inner width.
constexpr int64_t kSelfAttention = 9;    // x, q, k, v, their heads' layout, context, output, norm
constexpr int64_t kCrossAttention = 10;  // likewise; keys and values are per source token
constexpr int64_t kFeedForward = 5;      // x, output, norm ...
constexpr int64_t kInner = 3;            // ... and before and after ReLU, dropout

int64_t activation_floats(const TrainConfig& c) {
  const int64_t d = c.model.width;
  const int64_t scores = 3 * c.model.heads * kTypicalLength;  // logits, probabilities, dropped
  const int64_t feed_forward = kFeedForward * d + kInner * c.model.inner;
  const int64_t self = kSelfAttention * d + scores;
  int64_t per_token = 0;
  if (c.model.has_encoder()) per_token += c.model.encoder_layers * (self + feed_forward);
  if (c.model.has_decoder()) {
    per_token += c.model.decoder_layers * (self + feed_forward);
    if (c.model.has_encoder()) per_token += c.model.decoder_layers * (kCrossAttention * d + scores);
  }
  const int64_t symbols = std::max(c.model.source_vocabulary, c.model.target_vocabulary);
  per_token += 3 * symbols;  // logits, their log-softmax, its gradient
  return per_token * c.batch.max_tokens;
}

std::string gigabytes(int64_t bytes) {
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

// The number in a file of one; -1 if it has none.
int64_t number_in(const char* file) {
  std::ifstream stream(file);
  int64_t number = -1;
  return stream >> number ? number : -1;
}

}  // namespace

MemoryEstimate estimate_memory(const TrainConfig& c) {
  const int64_t copy = kFloat * model::parameter_count(c.model);
  return {.parameters = copy,
          .gradients = copy * c.train.workers,
          .moments = 2 * copy,
          .checkpoint = 3 * copy,
          .activations = kFloat * activation_floats(c)};
}

int64_t available_memory() {
  int64_t least = std::numeric_limits<int64_t>::max();
  std::ifstream machine("/proc/meminfo");
  std::string key, unit;
  for (int64_t value = 0; machine >> key >> value; std::getline(machine, unit)) {
    if (key == "MemAvailable:") least = value * 1024;
  }
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit >= 0 && used >= 0) least = std::min(least, limit - used);
  return least == std::numeric_limits<int64_t>::max() ? -1 : least;
}

std::string describe(const MemoryEstimate& e) {
  return fmt::format(
      "parameters {}, gradients {}, Adam {}, checkpoint copy {}, activations {}; together {}",
      gigabytes(e.parameters), gigabytes(e.gradients), gigabytes(e.moments),
      gigabytes(e.checkpoint), gigabytes(e.activations), gigabytes(e.total()));
}

void require_memory(const TrainConfig& config, int64_t available) {
  if (available < 0) return;
  const MemoryEstimate need = estimate_memory(config);
  const int64_t fixed = need.total() - need.activations;
  const std::string advice =
      fixed < available
          ? fmt::format("lower batch.max_tokens from {} and raise batch.update_frequency to match",
                        config.batch.max_tokens)
          : std::string("lower train.workers, or take a smaller model");
  require(need.total() <= available, "the run needs about {}, {} are free ({}); {}",
          gigabytes(need.total()), gigabytes(available), describe(need), advice);
  if (static_cast<double>(need.total()) > kMostOfIt * static_cast<double>(available)) {
    log::warn("the run needs about {} of the {} that are free; if it runs out, {}",
              gigabytes(need.total()), gigabytes(available), advice);
  }
}

}  // namespace residual::train
