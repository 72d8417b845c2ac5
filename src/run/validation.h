#pragma once

#include <cstdint>
#include <map>

#include "base/files.h"
#include "run/config.h"
#include "run/state.h"

namespace residual::run {

// The rank of a validation so far: not among the kept best, among them, or the best.
enum class Rank { none, kept, best };

// Records a validation of the current update, by fairseq's rules: only a strictly better value
// resets the count of validations without gain; the newest of equal values is the best. The state
// keeps the `keep` best validations, at least one.
Rank note_validation(State& state, ValidationMetric metric, double value, int64_t keep);

// Tells whether a is better than b; NaN is worse than any number.
bool is_better(ValidationMetric metric, double a, double b);

// Reads the results of a run's validations from its metrics.jsonl, by update.
std::map<int64_t, double> validations_of(const fs::path& run, ValidationMetric metric);

}  // namespace residual::run
