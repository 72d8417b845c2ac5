#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/directory.h"
#include "nn/transformer.h"
#include "probe/probe.h"
#include "run/config.h"

namespace residual::probe {

// The source of text processing: a model directory, a bundle or a prepared corpus.
struct TextFiles {
  fs::path place;  // empty: no text processing
  model::Description description;
  text::Segmenter::ReadFile read;  // reads one of its files by name

  text::Vocabulary vocabulary(const std::string& file) const;
};

// One model to probe.
struct Subject {
  std::string label;   // in legends
  std::string origin;  // "at initialisation, seed 1"
  run::TrainConfig config;
  bool initial = false;  // schemes may still set data-dependent parameters
  std::function<void(nn::Parameters&)> load;
  TextFiles text;
};

// Reads configurations and checks files, but loads no weights. Throws an Error that names what is
// missing.
std::vector<Subject> open_subjects(const SubjectOptions& options);

struct ProbeBatch {
  nn::ModelBatch batch;
  std::string origin;  // "12 sentences of corpus/dev.corpus"
};

ProbeBatch make_batch(const Subject& subject, const SubjectOptions& options);

}  // namespace residual::probe
