#include "run/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/control_group.h"
#include "base/error.h"
#include "base/log.h"
#include "model/parameters.h"

namespace residual::run {
namespace {

constexpr int64_t kFloat = 4;
constexpr double kMostOfIt = 0.8;

// Floats that a block of each kind keeps per token for its backward pass, its residual add and
// norm included, in units of the width d; a feed-forward block keeps its inner width besides.
struct Kept {
  int64_t self_attention;   // q, k, v, context, block output, residual sum, its norm
  int64_t cross_attention;  // the same; keys and values are per source token
  int64_t feed_forward;     // block output, residual sum, its norm
};
constexpr Kept kAll{7, 7, 3};
constexpr Kept kInputs{3, 3, 3};    // train.recompute: nothing inside the block
constexpr int64_t kLossRows = 256;  // rows whose logits exist at once

// Inside a feed-forward block: ReLU's result alone; or what precedes another activation, what
// follows it, and with gates their product besides.
int64_t inner_floats(const model::Config& c) {
  if (c.gated) return 4 * c.inner;
  return c.activation == model::Activation::relu ? c.inner : 2 * c.inner;
}

// Activations of all stacked layers, and the loss of one worker.
int64_t activation_floats(const TrainConfig& c, int64_t workers) {
  const int64_t d = c.model.width;
  const Kept block = c.train.recompute ? kInputs : kAll;
  const int64_t inner = c.train.recompute ? 0 : inner_floats(c.model);
  const int64_t layer = (block.self_attention + block.feed_forward) * d + inner;
  int64_t per_token = 0;
  if (c.model.has_encoder()) per_token += c.model.encoder_layers * layer;
  if (c.model.has_decoder()) per_token += c.model.decoder_layers * layer;
  if (c.model.kind == model::Kind::translation) {
    per_token += c.model.decoder_layers * block.cross_attention * d;
  }
  if (c.train.recompute) per_token += kAll.self_attention * d + inner_floats(c.model);  // one block
  int64_t tokens = c.batch.max_tokens * workers / c.train.workers;
  if (c.batch.pass_tokens > 0) tokens = std::min(tokens, c.batch.pass_tokens * workers);
  const int64_t symbols = std::max(c.model.source_vocabulary, c.model.target_vocabulary);
  return per_token * tokens + workers * (kLossRows + d) * symbols;
}

// Reads a file that holds one number; -1 if it has none.
int64_t number_in(const fs::path& file) {
  std::ifstream stream(file);
  int64_t number = -1;
  return stream >> number ? number : -1;
}

// The page cache that is charged to a control group. It does not count as used, because the
// kernel reclaims it when a process needs memory.
int64_t cached_files(const fs::path& group) {
  std::ifstream stream(group / "memory.stat");
  int64_t own = 0, total = 0;  // version 1 counts child groups separately
  std::string key;
  for (int64_t value = 0; stream >> key >> value;) {
    if (key.ends_with("active_file")) (key.starts_with("total_") ? total : own) += value;
  }
  return std::max(own, total);
}

}  // namespace

MemoryEstimate estimate_memory(const TrainConfig& c, int processes) {
  const int64_t copy = kFloat * model::parameter_count(c.model);
  const int64_t workers = (c.train.workers + processes - 1) / processes;
  const int64_t moments = c.optimizer.averages() ? 3 : 2;
  return {.parameters = copy,
          .gradients = copy * workers,
          .moments = moments * copy / processes,
          .checkpoint = (1 + moments) * copy,
          .activations = kFloat * activation_floats(c, workers)};
}

std::string format_memory(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size < 1e9 ? fmt::format("{:.1f} MB", size / 1e6) : fmt::format("{:.2f} GB", size / 1e9);
}

int64_t left_of_groups(const std::vector<fs::path>& groups) {
  struct Files {
    const char *limit, *used;
  };
  constexpr Files kVersions[] = {{"memory.max", "memory.current"},
                                 {"memory.limit_in_bytes", "memory.usage_in_bytes"}};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& group : groups) {
    for (const Files& files : kVersions) {
      const int64_t most = number_in(group / files.limit), now = number_in(group / files.used);
      if (most >= 0 && now >= 0) least = std::min(least, most - now + cached_files(group));
    }
  }
  return least;
}

int64_t available_memory() {
  int64_t least = left_of_groups(control_groups("memory"));
  std::ifstream machine("/proc/meminfo");
  std::string key, unit;
  for (int64_t value = 0; machine >> key >> value; std::getline(machine, unit)) {
    if (key == "MemAvailable:") least = std::min(least, value * 1024);
  }
  return least == std::numeric_limits<int64_t>::max() ? -1 : least;
}

std::string describe(const MemoryEstimate& e) {
  return fmt::format(
      "parameters {}, gradients {}, Adam {}, checkpoint copy {}, activations {}; together {}",
      format_memory(e.parameters), format_memory(e.gradients), format_memory(e.moments),
      format_memory(e.checkpoint), format_memory(e.activations), format_memory(e.total()));
}

void require_memory(const TrainConfig& config, int64_t available, int processes) {
  if (available < 0) return;
  const MemoryEstimate need = estimate_memory(config, processes);
  const int64_t fixed = need.total() - need.activations;
  const std::string advice =
      fixed < available ? fmt::format("lower batch.pass_tokens from {}{}", config.batch.pass_tokens,
                                      config.train.recompute ? "" : ", or set train.recompute")
                        : std::string("lower train.workers, or use a smaller model");
  require(need.total() <= available, "the run needs about {}, {} are free ({}); {}",
          format_memory(need.total()), format_memory(available), describe(need), advice);
  if (static_cast<double>(need.total()) > kMostOfIt * static_cast<double>(available)) {
    log::warn("the run needs about {} of the {} that are free; if it runs out, {}",
              format_memory(need.total()), format_memory(available), advice);
  }
}

}  // namespace residual::run
