#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace residual::train {

double learning_rate(const run::ScheduleConfig& s, int64_t completed) {
  const auto t = static_cast<double>(completed);
  const auto warmup = static_cast<double>(s.warmup);
  if (s.kind == run::ScheduleKind::t_fixup) return s.peak * std::sqrt(warmup / (warmup + t));
  if (completed < s.warmup) return s.warmup_init + t * (s.peak - s.warmup_init) / warmup;
  // The progress of the decay, 0 to 1; only kinds with an end use it.
  const double done =
      std::min(1.0, (t - warmup) / std::max(1.0, static_cast<double>(s.total) - warmup));
  switch (s.kind) {
    case run::ScheduleKind::inverse_sqrt:
      return s.peak * std::sqrt(warmup / t);
    case run::ScheduleKind::linear:
      return s.end + (s.peak - s.end) * (1 - done);
    case run::ScheduleKind::cosine:
      return s.end + (s.peak - s.end) * (1 + std::cos(std::numbers::pi * done)) / 2;
    case run::ScheduleKind::constant:
    case run::ScheduleKind::t_fixup:
      break;
  }
  return s.peak;
}

}  // namespace residual::train
