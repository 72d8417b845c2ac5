#include "probe/live.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "probe/gradients.h"
#include "probe/representation.h"
#include "review/findings.h"
#include "run/corpora.h"
#include "run/run_log.h"
#include "train/learner.h"
#include "train/shards.h"

namespace residual::probe {
namespace {

const char* name_of(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }

// The means over the lowest and the highest third of the blocks.
struct Thirds {
  double low, high;
};

Thirds thirds(const std::vector<double>& values) {
  const size_t third = std::max<size_t>(1, values.size() / 3);
  const auto mean = [&](auto begin) {
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(third), 0.0) /
           static_cast<double>(third);
  };
  return {mean(values.begin()), mean(values.end() - static_cast<std::ptrdiff_t>(third))};
}

// Picks some sentences of the dev corpora, or of the first batch if there are none.
nn::ModelBatch live_batch(const run::TrainConfig& config) {
  const run::Corpora corpora(config);
  const auto dev = corpora.dev_batches(config);
  const data::Batch all = dev.empty() ? corpora.batcher(config).next() : dev.front();
  const int64_t limit =
      std::clamp<int64_t>(config.batch.max_tokens / 16, 1, LiveProbe::kLiveTokens);
  const data::Batch pairs = train::shards(all, train::shard_count(all, 1, limit)).front();
  return train::model_batch(config, pairs, {}, train::device_of(config.train.device));
}

// Describes the problems of a stack.
std::vector<std::string> troubles_of(const LiveStack& stack) {
  std::vector<std::string> found;
  if (vanishes(stack)) {
    found.push_back(
        fmt::format("gradients vanish in the lower blocks of the {}", name_of(stack.side)));
  }
  if (collapses(stack)) {
    found.push_back(
        fmt::format("representations collapse in the upper blocks of the {}", name_of(stack.side)));
  }
  return found;
}

}  // namespace

bool vanishes(const LiveStack& stack) {
  const auto [low, high] = thirds(stack.gradients);
  return low < review::kVanished * high;
}

bool collapses(const LiveStack& stack) {
  return !stack.changes.empty() && thirds(stack.changes).high < review::kCollapsed;
}

LiveProbe::LiveProbe(const run::TrainConfig& config, int64_t every)
    : every_(every), batch_(live_batch(config)) {
  require(every > 0, "--probe: every must be at least 1, is {}", every);
}

std::vector<LiveStack> LiveProbe::measure(const train::Learner& learner) const {
  const at::NoGradGuard no_grad;
  Tracer tracer(learner.parameters().config());
  learner.model().forward(batch_, {.watcher = &tracer});
  std::vector<LiveStack> stacks;
  for (const StackTrace& trace : tracer.stacks()) {
    stacks.push_back({.side = trace.side,
                      .gradients = block_norms(learner.parameters(), trace.side),
                      .changes = normalised_changes(trace.inputs)});
  }
  return stacks;
}

std::string LiveProbe::option() const { return fmt::format("--probe every={}", every_); }

void LiveProbe::updated(int64_t update, const train::Learner& learner, run::RunLog& log) {
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  std::vector<std::string> troubles;
  for (const LiveStack& stack : measure(learner)) {
    const std::string side = name_of(stack.side);
    const auto gradients = thirds(stack.gradients);
    line[side + "_gradient_low"] = gradients.low;
    line[side + "_gradient_high"] = gradients.high;
    if (!stack.changes.empty()) line[side + "_change_high"] = thirds(stack.changes).high;
    line[side + "_gradients"] = stack.gradients;
    line[side + "_changes"] = stack.changes;
    for (auto& trouble : troubles_of(stack)) troubles.push_back(std::move(trouble));
  }
  log.metrics("probe", update, line);
  for (const auto& trouble : troubles) {
    if (std::ranges::count(troubles_, trouble) > 0) continue;
    log.say(fmt::format("warning: update {}: {}; `residual probe` on the run shows where", update,
                        trouble));
  }
  troubles_ = std::move(troubles);
}

}  // namespace residual::probe
