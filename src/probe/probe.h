#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "probe/adam_condition.h"
#include "report/report.h"

// The functions of `residual probe`.
namespace residual::probe {

struct SubjectOptions {
  // Model directories, runs, checkpoints, recipes. If empty: a model at initialisation, of the size
  // that the paper trains on IWSLT.
  std::vector<fs::path> subjects;
  std::vector<std::string> schemes;   // "name" or "name:variant", in place of the configured one
  int64_t layers = 0;                 // of each stack; 0: as configured
  std::vector<std::string> settings;  // "model.width=128": keys of a training recipe
  bool at_initialisation = false;     // use initial parameters, not trained ones
  std::optional<int64_t> seed;  // of weights (default train.seed) and random tokens (default 1)

  // The text: raw lines or a prepared corpus. If neither is given: the run's dev corpus, or else
  // random tokens.
  fs::path text, translation;
  std::string from, to;  // languages of the text, if the model has several
  fs::path data;
  int64_t tokens = 512;  // most tokens of the batch, on each side
};

// Fails before any long computation if a subject, a scheme or the text is unusable.
report::Report probe_models(const SubjectOptions& options);

struct TheoryOptions {
  int blocks = 36;
  int width = 128;
  int64_t seed = 1;
};
report::Report probe_theory(const TheoryOptions& options);

struct AdamOptions {
  AdamSetting setting;  // except its forms, all of which are shown
  int64_t steps = 20;
  int64_t draws = 32;     // simulations whose mean is shown
  int64_t warmup = 4000;  // updates of the linear warm-up that the constant rate is compared with
  int64_t seed = 1;
};
report::Report probe_adam(const AdamOptions& options);
// Formats the numbers of figure 3 as a text table.
std::string adam_table(const AdamOptions& options);

}  // namespace residual::probe
