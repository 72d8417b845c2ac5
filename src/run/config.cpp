#include "run/config.h"

#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/parallel.h"
#include "schemes/registry.h"

namespace residual::run {

void fields(ConfigVisitor& visit, DataConfig& c) {
  visit("prepared", c.prepared, "directory that `residual prepare` made");
  visit.choice("side", c.side, "text of a language or masked model: this side of the corpus");
}

void fields(ConfigVisitor& visit, BatchConfig& c) {
  visit("max_tokens", c.max_tokens, "most tokens of a batch, on each side",
        {.min = 1, .max = 1 << 30});
  visit("update_frequency", c.update_frequency, "batches whose gradients make one update",
        {.min = 1, .max = 1 << 20});
  visit("pass_tokens", c.pass_tokens,
        "target tokens that a worker passes through the model at once; fewer take less memory and "
        "stay in the caches; 0: its whole share of a batch",
        {.min = 0});
  visit("max_sentences", c.max_sentences, "most sentences of a batch; 0: no limit", {.min = 0});
  visit("max_source", c.max_source, "pairs with a longer source are left out", {.min = 1});
  visit("max_target", c.max_target, "pairs with a longer target are left out", {.min = 1});
  visit.choice("composition", c.composition,
               "pairs of similar length, grouped anew every epoch; or exactly fairseq's batches");
  visit("sentence_multiple", c.sentence_multiple,
        "fairseq's batches have fewer sentences than this, or a multiple of it", {.min = 1});
  visit("seed", c.seed, "seed of the batches and their order", {.min = 0});
  visit("temperature", c.temperature,
        "temperature T of a mixture of corpora: shares are proportional to size^(1/T)",
        {.min = 0.01});
  visit("last_temperature", c.last_temperature, "temperature after annealing; 0: no annealing",
        {.min = 0});
  visit("annealing_epochs", c.annealing_epochs, "epochs until last_temperature is reached",
        {.min = 0});
}

void fields(ConfigVisitor& visit, DropoutConfig& c) {
  visit("residual", c.residual, "dropout of embeddings and of every block's output",
        {.min = 0, .max = 0.99});
  visit("attention", c.attention, "dropout of attention probabilities", {.min = 0, .max = 0.99});
  visit("activation", c.activation, "dropout inside feed-forward blocks", {.min = 0, .max = 0.99});
  visit("subwords", c.subwords,
        "BPE-dropout of merges: training words are segmented anew in every epoch",
        {.min = 0, .max = 0.99});
}

void fields(ConfigVisitor& visit, OptimizerConfig& c) {
  visit("beta1", c.beta1, "Adam's average of gradients", {.min = 0, .max = 0.999999});
  visit("beta2", c.beta2, "Adam's average of squared gradients", {.min = 0, .max = 0.999999});
  visit("epsilon", c.epsilon, "added to Adam's denominator", {.min = 1e-30});
  visit.choice("form", c.form,
               "epsilon is added before or after the bias correction of the denominator");
  visit("weight_decay", c.weight_decay,
        "decoupled weight decay of all parameters, times the learning rate", {.min = 0});
  visit("clip_norm", c.clip_norm, "largest L2 norm of the whole gradient; 0: no clipping",
        {.min = 0});
  visit("average_decay", c.average_decay,
        "decay of a moving average of the parameters at every update, for example 0.9999; the "
        "average is then validated and written as the model; 0: no average",
        {.min = 0, .max = 0.9999999});
}

void fields(ConfigVisitor& visit, ScheduleConfig& c) {
  visit.choice("kind", c.kind,
               "how the learning rate moves after the warm-up; docs/training.md has the formulas");
  visit("peak", c.peak, "largest learning rate", {.min = 0});
  visit("warmup", c.warmup, "updates until the peak; t-fixup: the offset T0, no warm-up",
        {.min = 0});
  visit("warmup_init", c.warmup_init,
        "learning rate of the first update; the peak for inverse-sqrt without warm-up", {.min = 0});
  visit("total", c.total, "linear, cosine: update at which `end` is reached; 0: train.max_updates",
        {.min = 0});
  visit("end", c.end, "linear, cosine: last learning rate", {.min = 0});
}

void fields(ConfigVisitor& visit, LossConfig& c) {
  visit("label_smoothing", c.label_smoothing, "mass taken from the right symbol",
        {.min = 0, .max = 0.99});
  visit.choice(
      "smoothing", c.smoothing,
      "the mass goes to all other symbols (fairseq 0.12) or to all symbols (fairseq before "
      "February 2021)");
  visit("masked_share", c.masked_share, "masked models: share of tokens that are hidden",
        {.min = 0.001, .max = 1});
}

void fields(ConfigVisitor& visit, LossScaleConfig& c) {
  visit("initial", c.initial, "first factor on the loss", {.min = 1e-10});
  visit("window", c.window, "updates without overflow after which the factor doubles", {.min = 1});
  visit("minimum", c.minimum, "smallest factor; an overflow below it ends the run", {.min = 1e-10});
}

void fields(ConfigVisitor& visit, RunConfig& c) {
  visit("start_from", c.start_from,
        "model or run whose parameters are the initial values; the optimiser state starts empty");
  visit("max_updates", c.max_updates, "stop after this many updates; 0: no limit", {.min = 0});
  visit("max_epochs", c.max_epochs, "stop after this many epochs; 0: no limit", {.min = 0});
  visit("seed", c.seed, "seed of initial values, dropout and masking", {.min = 0});
  visit("workers", c.workers,
        "parts a batch is cut into, each computed by one thread; 0: one per core. The result "
        "depends on it, not on the number of threads",
        {.min = 0, .max = 4096});
  visit("device", c.device, "cpu, cuda or cuda:N");
  visit.choice("precision", c.precision,
               "precision of matrix products; parameters and optimiser are always fp32");
  visit.choice("ops", c.ops,
               "the project's own operators where they fit (CPU, fp32), or their definitions in "
               "LibTorch everywhere");
  visit("recompute", c.recompute,
        "compute every block again in the backward pass instead of keeping its activations: less "
        "memory, a third more work, the same result to the last bit");
  visit.choice(
      "on_nonfinite", c.on_nonfinite,
      "for a loss or gradient that is not finite: end the run; skip the update; skip it and "
      "halve the learning rate");
}

void fields(ConfigVisitor& visit, ValidateConfig& c) {
  visit("every_updates", c.every_updates, "validate every N updates; 0: not by updates",
        {.min = 0});
  visit("every_epochs", c.every_epochs, "validate every N epochs; 0: not by epochs", {.min = 0});
  visit.choice("metric", c.metric, "metric that selects the best model");
  visit("patience", c.patience,
        "stop after this many validations in a row without a better metric; 0: never", {.min = 0});
  visit("bleu", c.bleu,
        "translate and score the dev texts even if another metric selects the best model");
  visit("beam", c.beam, "hypotheses kept while translating", {.min = 1, .max = 62});
}

void fields(ConfigVisitor& visit, CheckpointConfig& c) {
  visit("every_updates", c.every_updates, "save every N updates; 0: not by updates", {.min = 0});
  visit("every_epochs", c.every_epochs, "save every N epochs; 0: not by epochs", {.min = 0});
  visit("keep_last", c.keep_last, "number of latest checkpoints to keep", {.min = 1});
  visit("keep_epochs", c.keep_epochs,
        "number of checkpoints at epoch ends to keep besides; above 0, every epoch ends with a "
        "checkpoint unless every_epochs says otherwise",
        {.min = 0});
  visit("keep_best", c.keep_best, "number of checkpoints with the best metric to keep besides",
        {.min = 0});
}

void fields(ConfigVisitor& visit, LogConfig& c) {
  visit("every_updates", c.every_updates, "updates per line of metrics.jsonl", {.min = 1});
  visit("tensorboard", c.tensorboard, "also write event files");
}

void fields(ConfigVisitor& visit, TrainConfig& c) {
  visit("description", c.description, "description of this recipe");
  visit.table("data", c.data, "training data");
  visit.table("model", c.model, "architecture");
  visit.table("dropout", c.dropout, "dropout probabilities");
  visit.table("batch", c.batch, "how sentences form batches and batches form updates");
  visit.table("loss", c.loss, "cross entropy");
  visit.table("optimizer", c.optimizer, "Adam");
  visit.table("schedule", c.schedule, "learning rate");
  visit.table("train", c.train, "length, seed and device of the run");
  visit.table("loss_scale", c.loss_scale, "dynamic factor on the loss, fp16 only");
  visit.table("validate", c.validate, "validation on the dev corpora");
  visit.table("checkpoint", c.checkpoint, "checkpoints, from which a run resumes");
  visit.table("log", c.log, "metrics files");
}

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
  require(!cpu || c.train.precision != Precision::fp16,
          "train.precision: fp16 needs a CUDA device; on the CPU use bf16 or fp32");
  require(cpu || c.train.workers <= 1, "train.workers: is {}; one GPU is driven by one worker",
          c.train.workers);
  const BatchConfig& b = c.batch;
  require(b.annealing_epochs > 0 || b.last_temperature == 0 || b.last_temperature == b.temperature,
          "batch.annealing_epochs: is 0, so batch.temperature = {} would never be used; set it, or "
          "batch.temperature = {} alone",
          b.temperature, b.last_temperature);
  require(b.annealing_epochs == 0 || b.last_temperature > 0,
          "batch.last_temperature: is 0, so batch.temperature would not move in the {} epochs of "
          "batch.annealing_epochs; set it",
          b.annealing_epochs);
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
          .composition = c.composition == Composition::fairseq ? "fairseq" : "residual",
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
