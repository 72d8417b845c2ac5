#pragma once

#include <vector>

#include "text/vocabulary.h"
#include "train/config.h"
#include "train/corpora.h"

namespace residual::train {

// A model knows its symbols by their ids alone.
bool have_same_symbols(const text::Vocabulary& a, const text::Vocabulary& b);

// The parameters of the model train.start_from, one after the other. An Error unless it has the
// architecture and the vocabularies of the run.
std::vector<float> start_values(const TrainConfig& config, const Corpora& corpora);

}  // namespace residual::train
