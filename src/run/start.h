#pragma once

#include <vector>

#include "run/config.h"
#include "run/corpora.h"
#include "text/vocabulary.h"

namespace residual::run {

// A model knows its symbols by their ids alone.
bool have_same_symbols(const text::Vocabulary& a, const text::Vocabulary& b);

// The parameters of the model train.start_from, one after the other. An Error unless it has the
// architecture and the vocabularies of the run.
std::vector<float> start_values(const TrainConfig& config, const Corpora& corpora);

}  // namespace residual::run
