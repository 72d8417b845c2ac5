#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/label_smoothing.h"
#include "data/batcher.h"
#include "model/config.h"

// The configuration of a training run, as its recipe gives it. Defaults follow fairseq where
// fairseq has one.
namespace residual::run {

enum class TextSide { source, target };
constexpr auto names(TextSide) { return std::array{"source", "target"}; }
enum class AdamForm { fairseq, textbook };
constexpr auto names(AdamForm) { return std::array{"fairseq", "textbook"}; }
enum class ScheduleKind { inverse_sqrt, linear, cosine, constant, t_fixup };
constexpr auto names(ScheduleKind) {
  return std::array{"inverse-sqrt", "linear", "cosine", "constant", "t-fixup"};
}
enum class Operators { fused, reference };
constexpr auto names(Operators) { return std::array{"fused", "reference"}; }
enum class TrainingPrecision { fp32, bf16, fp16 };
constexpr auto names(TrainingPrecision) { return std::array{"fp32", "bf16", "fp16"}; }
enum class OnNonfinite { stop, skip, lower };
constexpr auto names(OnNonfinite) { return std::array{"stop", "skip", "lower"}; }
enum class ValidationMetric { loss, nll, perplexity, bleu };
constexpr auto names(ValidationMetric) { return std::array{"loss", "nll", "perplexity", "bleu"}; }

struct DataConfig {
  std::string prepared;
  TextSide side = TextSide::target;
};
inline void fields(ConfigVisitor& visit, DataConfig& c) {
  visit("prepared", c.prepared, "directory that `residual prepare` made");
  visit.choice("side", c.side, "text of a language or masked model: this side of the corpus");
}

struct BatchConfig {
  int64_t max_tokens = 4096;
  int64_t update_frequency = 1;
  int64_t pass_tokens = 1024;
  int64_t max_sentences = 0;
  int64_t max_source = 1024;
  int64_t max_target = 1024;
  data::Composition composition = data::Composition::residual;
  int64_t sentence_multiple = 8;
  int64_t seed = 1;
  double temperature = 1;
  double last_temperature = 0;
  int64_t annealing_epochs = 0;
};
inline void fields(ConfigVisitor& visit, BatchConfig& c) {
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

struct DropoutConfig {
  double residual = 0.1;
  double attention = 0;
  double activation = 0;
  double subwords = 0;
};
inline void fields(ConfigVisitor& visit, DropoutConfig& c) {
  visit("residual", c.residual, "dropout of embeddings and of every block's output",
        {.min = 0, .max = 0.99});
  visit("attention", c.attention, "dropout of attention probabilities", {.min = 0, .max = 0.99});
  visit("activation", c.activation, "dropout inside feed-forward blocks", {.min = 0, .max = 0.99});
  visit("subwords", c.subwords,
        "BPE-dropout of merges: training words are segmented anew in every epoch",
        {.min = 0, .max = 0.99});
}

struct OptimizerConfig {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-8;
  AdamForm form = AdamForm::fairseq;
  double weight_decay = 0;
  double clip_norm = 0;
  double average_decay = 0;

  bool averages() const { return average_decay > 0; }
};
inline void fields(ConfigVisitor& visit, OptimizerConfig& c) {
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

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 5e-4;
  int64_t warmup = 4000;
  double warmup_init = 1e-7;
  int64_t total = 0;
  double end = 0;
};
inline void fields(ConfigVisitor& visit, ScheduleConfig& c) {
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

struct LossConfig {
  double label_smoothing = 0.1;
  LabelSmoothing smoothing = LabelSmoothing::others;
  double masked_share = 0.15;
};
inline void fields(ConfigVisitor& visit, LossConfig& c) {
  visit("label_smoothing", c.label_smoothing, "mass taken from the right symbol",
        {.min = 0, .max = 0.99});
  visit.choice(
      "smoothing", c.smoothing,
      "the mass goes to all other symbols (fairseq 0.12) or to all symbols (fairseq before "
      "February 2021)");
  visit("masked_share", c.masked_share, "masked models: share of tokens that are hidden",
        {.min = 0.001, .max = 1});
}

struct LossScaleConfig {
  double initial = 128;
  int64_t window = 2000;
  double minimum = 1e-4;
};
inline void fields(ConfigVisitor& visit, LossScaleConfig& c) {
  visit("initial", c.initial, "first factor on the loss", {.min = 1e-10});
  visit("window", c.window, "updates without overflow after which the factor doubles", {.min = 1});
  visit("minimum", c.minimum, "smallest factor; an overflow below it ends the run", {.min = 1e-10});
}

struct RunConfig {
  std::string start_from;
  int64_t max_updates = 100'000;
  int64_t max_epochs = 0;
  int64_t seed = 1;
  int64_t workers = 0;
  std::string device = "cpu";
  TrainingPrecision precision = TrainingPrecision::fp32;
  Operators ops = Operators::fused;
  bool recompute = false;
  OnNonfinite on_nonfinite = OnNonfinite::stop;
};
inline void fields(ConfigVisitor& visit, RunConfig& c) {
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
               "the project's own operators where they fit (CPU), or their definitions in LibTorch "
               "everywhere");
  visit("recompute", c.recompute,
        "compute every block again in the backward pass instead of keeping its activations: less "
        "memory, a third more work, the same result to the last bit");
  visit.choice(
      "on_nonfinite", c.on_nonfinite,
      "for a loss or gradient that is not finite: end the run; skip the update; skip it and "
      "halve the learning rate");
}

struct ValidateConfig {
  int64_t every_updates = 0;
  int64_t every_epochs = 1;
  ValidationMetric metric = ValidationMetric::loss;
  int64_t patience = 0;
  bool bleu = false;
  int64_t beam = 5;

  bool wants_bleu() const { return bleu || metric == ValidationMetric::bleu; }
};
inline void fields(ConfigVisitor& visit, ValidateConfig& c) {
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

struct CheckpointConfig {
  int64_t every_updates = 1000;
  int64_t every_epochs = 0;
  int64_t keep_last = 2;
  int64_t keep_epochs = 0;
  int64_t keep_best = 1;
};
inline void fields(ConfigVisitor& visit, CheckpointConfig& c) {
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

struct LogConfig {
  int64_t every_updates = 100;
  bool tensorboard = true;
};
inline void fields(ConfigVisitor& visit, LogConfig& c) {
  visit("every_updates", c.every_updates, "updates per line of metrics.jsonl", {.min = 1});
  visit("tensorboard", c.tensorboard, "also write event files");
}

struct TrainConfig {
  std::string description;
  DataConfig data;
  model::Config model;
  DropoutConfig dropout;
  BatchConfig batch;
  LossConfig loss;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  RunConfig train;
  LossScaleConfig loss_scale;
  ValidateConfig validate;
  CheckpointConfig checkpoint;
  LogConfig log;
};
inline void fields(ConfigVisitor& visit, TrainConfig& c) {
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

// Fails, naming the keys, if values contradict each other. Reads no file.
void check(const TrainConfig& config);

// Returns a warning about values that are allowed but probably unintended; "" if there are none.
std::string doubt_about(const TrainConfig& config);

// Returns the configuration with its open values filled in: workers (one per core, over that many
// machines like this one), the end of the schedule, the last temperature, the scheme's variant.
// The sizes of vocabularies come from the corpus.
TrainConfig resolve(TrainConfig config, int processes = 1);

data::BatchOptions batch_options(const BatchConfig& config);

struct Difference {
  std::string key, before, now;
};

// Returns the differing keys that change what a run computes. It ignores [checkpoint], [log], the
// corpus's location, the device and, unless `same_length`, the run's length. A value that `now`
// leaves open counts as unchanged.
std::vector<Difference> differences(const TrainConfig& before, TrainConfig now,
                                    bool same_length = false);

}  // namespace residual::run
