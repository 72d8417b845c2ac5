#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace residual::model {

// Sinusoidal position of token i of a sentence (i from 0): with w_j = 10000^(-j / (d/2 - 1)), or
// 10000^(-j / (d/2)) if the form's frequencies end above the lowest, and p = i + first_position,
// the first half of the row is sin(p w_j), the second cos(p w_j).
void sinusoid(int64_t i, std::span<float> row, Form form = Form::fairseq);

}  // namespace residual::model
