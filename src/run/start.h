#pragma once

#include <vector>

#include "run/config.h"
#include "run/corpora.h"
#include "text/vocabulary.h"

namespace residual::run {

// A model identifies symbols only by their ids, so the vocabularies must be equal.
bool have_same_symbols(const text::Vocabulary& a, const text::Vocabulary& b);

// Returns the parameters of the model train.start_from in one flat buffer. Throws an Error unless
// the model has the run's architecture and vocabularies.
std::vector<float> start_values(const TrainConfig& config, const Corpora& corpora);

}  // namespace residual::run
