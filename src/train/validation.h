#pragma once

#include <cstdint>

#include "train/config.h"
#include "train/state.h"

namespace residual::train {

// What a validation is among those so far: not among the best that are kept, among them, the best.
enum class Rank { none, kept, best };

// Notes a validation of the current update, by fairseq's rules: only a strictly better value ends
// the count of validations without gain; of equal values the newest is the best. `keep` best ones
// are remembered, at least one.
Rank note_validation(State& state, Metric metric, double value, int64_t keep);

const char* name_of(Metric metric);

}  // namespace residual::train
