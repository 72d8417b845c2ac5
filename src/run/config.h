#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "data/batcher.h"
#include "model/config.h"

// The configuration of a training run, as its recipe gives it. Defaults follow fairseq where
// fairseq has one.
namespace residual::run {

enum class TextSide { source, target };
constexpr auto names(TextSide) { return std::array{"source", "target"}; }
enum class Composition { residual, fairseq };
constexpr auto names(Composition) { return std::array{"residual", "fairseq"}; }
enum class AdamForm { fairseq, textbook };
constexpr auto names(AdamForm) { return std::array{"fairseq", "textbook"}; }
enum class ScheduleKind { inverse_sqrt, linear, cosine, constant, t_fixup };
constexpr auto names(ScheduleKind) {
  return std::array{"inverse-sqrt", "linear", "cosine", "constant", "t-fixup"};
}
enum class Smoothing { others, all };
constexpr auto names(Smoothing) { return std::array{"others", "all"}; }
enum class Operators { fused, reference };
constexpr auto names(Operators) { return std::array{"fused", "reference"}; }
enum class Precision { fp32, bf16, fp16 };
constexpr auto names(Precision) { return std::array{"fp32", "bf16", "fp16"}; }
enum class OnNonfinite { stop, skip, lower };
constexpr auto names(OnNonfinite) { return std::array{"stop", "skip", "lower"}; }
enum class Metric { loss, nll, perplexity, bleu };
constexpr auto names(Metric) { return std::array{"loss", "nll", "perplexity", "bleu"}; }

struct DataConfig {
  std::string prepared;
  TextSide side = TextSide::target;
};

struct BatchConfig {
  int64_t max_tokens = 4096;
  int64_t update_frequency = 1;
  int64_t pass_tokens = 1024;
  int64_t max_sentences = 0;
  int64_t max_source = 1024;
  int64_t max_target = 1024;
  Composition composition = Composition::residual;
  int64_t sentence_multiple = 8;
  int64_t seed = 1;
  double temperature = 1;
  double last_temperature = 0;
  int64_t annealing_epochs = 0;
};

struct DropoutConfig {
  double residual = 0.1;
  double attention = 0;
  double activation = 0;
  double subwords = 0;
};

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

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 5e-4;
  int64_t warmup = 4000;
  double warmup_init = 1e-7;
  int64_t total = 0;
  double end = 0;
};

struct LossConfig {
  double label_smoothing = 0.1;
  Smoothing smoothing = Smoothing::others;
  double masked_share = 0.15;
};

struct LossScaleConfig {
  double initial = 128;
  int64_t window = 2000;
  double minimum = 1e-4;
};

struct RunConfig {
  std::string start_from;
  int64_t max_updates = 100'000;
  int64_t max_epochs = 0;
  int64_t seed = 1;
  int64_t workers = 0;
  std::string device = "cpu";
  Precision precision = Precision::fp32;
  Operators ops = Operators::fused;
  bool recompute = false;
  OnNonfinite on_nonfinite = OnNonfinite::stop;
};

struct ValidateConfig {
  int64_t every_updates = 0;
  int64_t every_epochs = 1;
  Metric metric = Metric::loss;
  int64_t patience = 0;
  bool bleu = false;
  int64_t beam = 5;

  bool wants_bleu() const { return bleu || metric == Metric::bleu; }
};

struct CheckpointConfig {
  int64_t every_updates = 1000;
  int64_t every_epochs = 0;
  int64_t keep_last = 2;
  int64_t keep_epochs = 0;
  int64_t keep_best = 1;
};

struct LogConfig {
  int64_t every_updates = 100;
  bool tensorboard = true;
};

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
void fields(ConfigVisitor& visit, TrainConfig& config);

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
