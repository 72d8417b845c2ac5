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
constexpr double kMostOfIt = 0.8;

// Floats that a block of each kind keeps per token for its backward pass, its residual add and
// norm included, in units of the width d; a feed-forward block keeps its inner width besides.
constexpr int64_t kSelfAttention = 7;   // q, k, v, their mixture, what is added, the sum, its norm
constexpr int64_t kCrossAttention = 7;  // likewise; keys and values are per source token
constexpr int64_t kFeedForward = 3;     // what is added, the sum, its norm
constexpr int64_t kLossRows = 256;      // whose logits exist at a time

// Of the layers that lie above each other; the loss of one worker.
int64_t activation_floats(const TrainConfig& c) {
  const int64_t d = c.model.width;
  const int64_t layer = (kSelfAttention + kFeedForward) * d + c.model.inner;
  int64_t per_token = 0;
  if (c.model.has_encoder()) per_token += c.model.encoder_layers * layer;
  if (c.model.has_decoder()) per_token += c.model.decoder_layers * layer;
  if (c.model.kind == model::Kind::translation) {
    per_token += c.model.decoder_layers * kCrossAttention * d;
  }
  int64_t tokens = c.batch.max_tokens;
  if (c.batch.pass_tokens > 0) tokens = std::min(tokens, c.batch.pass_tokens * c.train.workers);
  const int64_t symbols = std::max(c.model.source_vocabulary, c.model.target_vocabulary);
  return per_token * tokens + c.train.workers * (kLossRows + d) * symbols;
}

std::string amount(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size < 1e9 ? fmt::format("{:.1f} MB", size / 1e6) : fmt::format("{:.2f} GB", size / 1e9);
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
      amount(e.parameters), amount(e.gradients), amount(e.moments), amount(e.checkpoint),
      amount(e.activations), amount(e.total()));
}

void require_memory(const TrainConfig& config, int64_t available) {
  if (available < 0) return;
  const MemoryEstimate need = estimate_memory(config);
  const int64_t fixed = need.total() - need.activations;
  const std::string advice =
      fixed < available ? fmt::format("lower batch.pass_tokens from {}", config.batch.pass_tokens)
                        : std::string("lower train.workers, or take a smaller model");
  require(need.total() <= available, "the run needs about {}, {} are free ({}); {}",
          amount(need.total()), amount(available), describe(need), advice);
  if (static_cast<double>(need.total()) > kMostOfIt * static_cast<double>(available)) {
    log::warn("the run needs about {} of the {} that are free; if it runs out, {}",
              amount(need.total()), amount(available), advice);
  }
}

}  // namespace residual::train
