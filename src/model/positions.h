#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace residual::model {

// Sinusoidal position of token i of a sentence (i from 0): with w_j = 10000^(-j / (d/2 - 1)), or
// 10000^(-j / (d/2)) if the form's frequencies end above the lowest, and p = i + first_position,
// the first half of the row is sin(p w_j), the second cos(p w_j).
void sinusoid(int64_t i, std::span<float> row, Form form = Form::fairseq);

// The rotation of token i (from 0) in a head of row.size() numbers: with w_j = base^(-2j / size),
// the first half of the row is cos(i w_j), the second sin(i w_j). Elements j and size / 2 + j of a
// query or key are a pair.
void rotation(int64_t i, double base, std::span<float> row);

}  // namespace residual::model
