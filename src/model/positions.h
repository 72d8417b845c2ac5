#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace residual::model {

// Sinusoidal position of token i of a sentence (i from 0), with w_j = 10000^(-j / (d/2 - 1)): the
// first half of the row is sin(p w_j), the second cos(p w_j). In fairseq p = i + 2, since it counts
// from pad's id + 1; in Marian p = i. Hugging Face's Marian has w_j = 10000^(-j / (d/2)).
void sinusoid(int64_t i, std::span<float> row, Form form = Form::fairseq);

}  // namespace residual::model
