#pragma once

#include <cstdint>
#include <span>

namespace residual::model {

// fairseq counts positions from pad's id + 1.
inline constexpr int64_t kFirstPosition = 2;

// Sinusoidal position of token i of a sentence (i from 0), as fairseq has it: with p = i + 2 and
// w_j = 10000^(-j / (d/2 - 1)), the first half of the row is sin(p w_j), the second cos(p w_j).
void sinusoid(int64_t i, std::span<float> row);

}  // namespace residual::model
