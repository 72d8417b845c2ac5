#include "study/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/process.h"
#include "model/parameters.h"
#include "run/run_directory.h"

namespace residual::study {
namespace {

// The multiplications of a run up to a constant factor: tokens x parameters.
double size_of(const run::TrainConfig& config) {
  const auto tokens = static_cast<double>(config.batch.max_tokens * config.batch.update_frequency);
  const auto updates = static_cast<double>(std::max<int64_t>(1, config.train.max_updates));
  return updates * tokens * static_cast<double>(model::parameter_count(config.model));
}

// Lists the differences between the existing run and the plan, a line for each key.
std::string difference(const Cell& cell, const fs::path& run) {
  run::TrainConfig before;
  read_config(run / run::kRunConfig, before);
  std::string lines;
  for (const auto& d : run::differences(before, cell.config, /*same_length=*/true)) {
    lines += fmt::format("\n  {}: {}: was {}, now {}", run.string(), d.key, d.before, d.now);
  }
  return lines;
}

}  // namespace

fs::path run_directory(const fs::path& output, const Cell& cell) {
  return output / "runs" / cell.name;
}

fs::path result_file(const fs::path& output, const Plan& plan, const Cell& cell) {
  return output / "results" / plan.name() / (cell.name + ".toml");
}

fs::path log_file(const fs::path& output, const Cell& cell) {
  return output / "logs" / (cell.name + ".log");
}

std::vector<std::string> command_of(const Plan& plan, const Cell& cell,
                                    const RunnerOptions& options) {
  const int threads = std::max(1, thread_count() / options.jobs);
  std::vector<std::string> command = {options.program.string(), "--threads",
                                      std::to_string(threads)};
  const auto add = [&](const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
  };
  add(cell.arguments);
  if (plan.probe_every > 0) add({"--probe", fmt::format("every={}", plan.probe_every)});
  const fs::path run = run_directory(options.output, cell);
  add({"--output", run.string()});
  if (run::has_begun(run)) add({"--resume"});
  return command;
}

std::optional<Result> load_result(const Plan& plan, const Cell& cell, const fs::path& output) {
  const fs::path file = result_file(output, plan, cell);
  if (!fs::exists(file)) return std::nullopt;
  const Result result = read_result(file);
  if (result.made_from != fingerprint(plan, cell)) return std::nullopt;
  const std::string corpus = corpus_fingerprint(plan, cell.config.data.prepared);
  // A study can be reported on a machine without its corpus.
  if (!corpus.empty() && result.corpus != corpus) return std::nullopt;
  return result;
}

double share_done(const Cell& cell, const fs::path& output) {
  const fs::path file = run_directory(output, cell) / "speed.jsonl";
  if (cell.config.train.max_updates == 0 || !fs::exists(file)) return 0;
  std::string text = read_file(file);
  text.resize(text.find_last_of('\n') + 1);  // the last line may be incomplete
  if (text.empty()) return 0;
  text.pop_back();
  const auto last = nlohmann::json::parse(text.substr(text.find_last_of('\n') + 1), nullptr, false);
  if (!last.is_object()) return 0;
  const auto update = static_cast<double>(last.value("update", int64_t{0}));
  return std::min(1.0, update / static_cast<double>(cell.config.train.max_updates));
}

std::vector<Work> look(const Plan& plan, const RunnerOptions& options) {
  std::vector<Work> work;
  std::string different;
  for (auto& cell : expand(plan)) {
    const fs::path run = run_directory(options.output, cell);
    Work item{.cell = std::move(cell)};
    item.size = size_of(item.cell.config);
    if (run::has_begun(run)) {
      different += difference(item.cell, run);
      item.action = Action::resume;
    }
    item.done = share_done(item.cell, options.output);
    if (load_result(plan, item.cell, options.output)) {
      item.action = Action::nothing;
      item.done = 1;
    }
    item.command = command_of(plan, item.cell, options);
    work.push_back(std::move(item));
  }
  require(different.empty(),
          "{}: holds runs of another configuration; give another --output, undo the change, or "
          "remove them:{}",
          options.output.string(), different);
  return work;
}

std::string shell_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const auto& word : command) words.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace residual::study
