#pragma once

#include <cstdint>
#include <map>

#include "base/files.h"
#include "run/config.h"
#include "run/state.h"

namespace residual::run {

// What a validation is among those so far: not among the best that are kept, among them, the best.
enum class Rank { none, kept, best };

// Notes a validation of the current update, by fairseq's rules: only a strictly better value ends
// the count of validations without gain; of equal values the newest is the best. `keep` best ones
// are remembered, at least one.
Rank note_validation(State& state, Metric metric, double value, int64_t keep);

const char* name_of(Metric metric);

// Whether a is better than b; what is not a number is worse than any.
bool is_better(Metric metric, double a, double b);

// What the validations of a run have found so far, by update: of its metrics.jsonl.
std::map<int64_t, double> validations_of(const fs::path& run, Metric metric);

}  // namespace residual::run
