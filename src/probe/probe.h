#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "probe/adam_condition.h"
#include "report/report.h"

// What `residual probe` does, in calls.
namespace residual::probe {

struct ModelOptions {
  // Model directories, runs, checkpoints, recipes. None: a model of the size the paper trains on
  // IWSLT, at initialisation.
  std::vector<fs::path> subjects;
  std::vector<std::string> schemes;   // "name" or "name:variant", in place of the configured one
  int64_t layers = 0;                 // of each stack; 0: as configured
  std::vector<std::string> settings;  // "model.width=128": keys of a training recipe
  bool at_initialisation = false;     // not as trained
  std::optional<int64_t> seed;        // of first weights, else train.seed; of random tokens, else 1

  // The text: raw lines, a prepared corpus, or neither: what the run was validated on, or else
  // random tokens.
  fs::path text, translation;
  std::string from, to;  // languages of the text, if the model knows several
  fs::path data;
  int64_t tokens = 512;  // of the batch, at most, on each side
};

// Fails before anything long if a subject, a scheme or the text will not do.
report::Report probe_models(const ModelOptions& options);

struct TheoryOptions {
  int blocks = 36;
  int width = 128;
  int64_t seed = 1;
};
report::Report probe_theory(const TheoryOptions& options);

struct AdamOptions {
  AdamSetting setting;  // but for its forms, of which all are shown
  int64_t steps = 20;
  int64_t seed = 1;
};
report::Report probe_adam(const AdamOptions& options);
// Figure 3's numbers as a table for people.
std::string adam_table(const AdamOptions& options);

}  // namespace residual::probe
