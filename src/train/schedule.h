#pragma once

#include <cstdint>

#include "run/config.h"

namespace residual::train {

// The learning rate of the update that follows `completed` ones (t). With W = warmup, T = total:
//
//   all but t-fixup, t < W   init + t (peak - init) / W
//   inverse-sqrt             peak sqrt(W / t)
//   linear                   end + (peak - end) (1 - (t - W) / (T - W)); end from T on
//   cosine                   end + (peak - end) (1 + cos(pi (t - W) / (T - W))) / 2; likewise
//   constant                 peak
//   t-fixup                  peak sqrt(W / (W + t))
//
// inverse-sqrt follows fairseq 0.12 (the first update uses warmup_init); linear is fairseq's
// polynomial_decay of power 1.
double learning_rate(const run::ScheduleConfig& schedule, int64_t completed);

}  // namespace residual::train
