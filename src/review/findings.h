#pragma once

#include <string>
#include <vector>

#include "review/records.h"

// What a reader of the curves should notice, in plain words.
namespace residual::review {

enum class Severity { problem, note };

struct Finding {
  Severity severity = Severity::problem;
  std::string text;
};

// The blocks of a stack receive gradients while the mean gradient norm of its lowest third of
// blocks is at least this share of that of its highest third.
inline constexpr double kVanished = 1e-3;
// They no longer do when the norm in its highest third is below this share of its largest.
inline constexpr double kStopped = 1e-3;
// The representations of a stack collapse when the mean change in its highest third of blocks is
// below this value. By theorem 3.3, Pre-LN reaches it at about 250 blocks.
inline constexpr double kCollapsed = 0.05;

// Problems first. A state counts only if it lasts until the latest record.
std::vector<Finding> findings(const Records& records);

}  // namespace residual::review
