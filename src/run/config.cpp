#include "run/config.h"

#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/parallel.h"
#include "schemes/registry.h"

namespace residual::run {
namespace {

bool has_end(const ScheduleConfig& s) {
  return s.kind == ScheduleKind::linear || s.kind == ScheduleKind::cosine;
}

bool has_warmup(const ScheduleConfig& s) { return s.kind != ScheduleKind::t_fixup && s.warmup > 0; }

void check(const ScheduleConfig& s, int64_t max_updates) {
  require(s.peak > 0, "schedule.peak: must be greater than 0");
  require(s.kind != ScheduleKind::inverse_sqrt || s.warmup > 0,
          "schedule.warmup: inverse-sqrt divides by it, so it cannot be 0; for no warm-up set "
          "schedule.warmup_init = {} (the peak): constant for schedule.warmup updates, then "
          "decaying",
          s.peak);
  require(s.kind != ScheduleKind::t_fixup || s.warmup > 0,
          "schedule.warmup: t-fixup's offset T0 cannot be 0; its paper has 4000");
  require(
      !has_warmup(s) || s.warmup_init <= s.peak,
      "schedule.warmup_init: {} is more than schedule.peak = {}, which the warm-up leads up to; "
      "lower it, to the peak itself for no warm-up",
      s.warmup_init, s.peak);
  require(!has_end(s) || s.end <= s.peak,
          "schedule.end: {} is more than schedule.peak = {}, where the decay starts", s.end,
          s.peak);
  const int64_t total = s.total > 0 ? s.total : max_updates;
  require(!has_end(s) || total > s.warmup,
          "schedule.total: {} updates are not more than the {} of the warm-up (0 stands for "
          "train.max_updates)",
          total, s.warmup);
}

}  // namespace

void check(const TrainConfig& c) {
  model::Config architecture = c.model;
  if (architecture.source_vocabulary == 0) architecture.target_vocabulary = 0;
  model::check(architecture);
  model::require_trainable(architecture, "trained");
  require(!c.data.prepared.empty(),
          "data.prepared: is empty; give a directory that `residual prepare` made, here or with "
          "--data");
  require(c.train.max_updates > 0 || c.train.max_epochs > 0,
          "train.max_updates and train.max_epochs are both 0: the run would never end");
  check(c.schedule, c.train.max_updates);
  const bool cpu = c.train.device == "cpu";
  require(cpu || c.train.device.starts_with("cuda"),
          "train.device: expected cpu, cuda or cuda:N, got \"{}\"", c.train.device);
  require(!cpu || c.train.precision != TrainingPrecision::fp16,
          "train.precision: fp16 needs a CUDA device; on the CPU use bf16 or fp32");
  const BatchConfig& b = c.batch;
  require(b.annealing_epochs > 0 || b.last_temperature == 0 || b.last_temperature == b.temperature,
          "batch.annealing_epochs: is 0, so batch.temperature = {} would never be used; set it, or "
          "batch.temperature = {} alone",
          b.temperature, b.last_temperature);
  require(b.annealing_epochs == 0 || b.last_temperature > 0,
          "batch.last_temperature: is 0, so batch.temperature would not move in the {} epochs of "
          "batch.annealing_epochs; set it",
          b.annealing_epochs);
  require(!c.model.has_output_bias() || c.loss.label_smoothing == 0,
          "loss.label_smoothing: must be 0 with model.form = \"{}\", where symbols that are never "
          "given have no probability to smooth",
          name_of(c.model.form));
  const bool translates = c.model.kind == model::Kind::translation;
  require(translates || !c.validate.wants_bleu(),
          "validate.metric, validate.bleu: BLEU needs a translation model");
  require(c.validate.patience == 0 || c.validate.every_updates + c.validate.every_epochs > 0,
          "validate.patience: is {}, but validation is off", c.validate.patience);
  require(
      c.batch.max_source <= c.model.max_positions && c.batch.max_target <= c.model.max_positions,
      "batch.max_source {} and batch.max_target {} must not exceed model.max_positions {}",
      c.batch.max_source, c.batch.max_target, c.model.max_positions);
}

std::string doubt_about(const TrainConfig& c) {
  const ScheduleConfig& s = c.schedule;
  const bool is_short = c.train.max_updates > 0 && s.warmup >= c.train.max_updates;
  if (!is_short || !has_warmup(s) || s.warmup_init == s.peak) return "";
  return fmt::format(
      "schedule.warmup: its {} updates are not fewer than train.max_updates = {}; the learning "
      "rate will not reach its peak",
      s.warmup, c.train.max_updates);
}

TrainConfig resolve(TrainConfig c, int processes) {
  if (c.train.workers == 0) {
    c.train.workers = int64_t{processes} * (c.train.device == "cpu" ? available_cores() : 1);
  }
  if (c.schedule.total == 0) c.schedule.total = c.train.max_updates;
  if (c.batch.last_temperature == 0) c.batch.last_temperature = c.batch.temperature;
  c.model.residual = schemes::resolve(c.model.residual);
  return c;
}

data::BatchOptions batch_options(const BatchConfig& c) {
  return {.max_tokens = c.max_tokens,
          .max_sentences = c.max_sentences,
          .max_source = c.max_source,
          .max_target = c.max_target,
          .seed = static_cast<uint64_t>(c.seed),
          .composition = c.composition,
          .sentence_multiple = c.sentence_multiple,
          .temperature = {.start = c.temperature,
                          .end = c.last_temperature > 0 ? c.last_temperature : c.temperature,
                          .annealing_epochs = c.annealing_epochs}};
}

namespace {

// Maps "table.key" to its value as TOML text.
std::map<std::string, std::string> flatten(const TrainConfig& config) {
  std::map<std::string, std::string> values;
  std::istringstream lines(to_toml(config));
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) {
      table = line.substr(1, line.find(']') - 1) + ".";
    } else if (const size_t equals = line.find(" = "); equals != std::string::npos) {
      values[table + line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  return values;
}

bool decides_the_result(const std::string& key) {
  static const std::set<std::string> free = {"description", "data.prepared", "train.device",
                                             "train.recompute", "train.on_nonfinite"};
  return !free.contains(key) && !key.starts_with("checkpoint.") && !key.starts_with("log.");
}

bool decides_the_length(const std::string& key) {
  return key == "train.max_updates" || key == "train.max_epochs" || key == "validate.patience";
}

}  // namespace

std::vector<Difference> differences(const TrainConfig& before, TrainConfig now, bool same_length) {
  if (now.train.workers == 0) now.train.workers = before.train.workers;
  if (now.schedule.total == 0) now.schedule.total = before.schedule.total;
  if (now.model.source_vocabulary == 0)
    now.model.source_vocabulary = before.model.source_vocabulary;
  if (now.model.target_vocabulary == 0)
    now.model.target_vocabulary = before.model.target_vocabulary;
  const bool ends = has_end(now.schedule);  // the other kinds ignore the total
  auto old_values = flatten(before);
  // Keys that only the new scheme has were at their defaults.
  TrainConfig with_defaults = before;
  with_defaults.model.residual = {.name = now.model.residual.name};
  old_values.merge(flatten(with_defaults));
  std::vector<Difference> found;
  for (const auto& [key, value] : flatten(resolve(std::move(now)))) {
    const std::string& old_value = old_values.at(key);
    if (value == old_value || !decides_the_result(key)) continue;
    if (key == "schedule.total" && !ends) continue;
    if (same_length || !decides_the_length(key)) found.push_back({key, old_value, value});
  }
  return found;
}

}  // namespace residual::run
