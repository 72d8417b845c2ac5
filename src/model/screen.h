#pragma once

#include <string>
#include <vector>

#include "kernels/matrix.h"
#include "model/config.h"
#include "model/safetensors.h"

// The screen of the output embedding, see decode/weights.h: the matrix in 16-bit integers, stored
// beside its float32 rows. Model files contain it, so that a process need not compute it for its
// first sentence. Below a megabyte computing it takes no time.
namespace residual::model {

// Returns `tensors` and, if they have a large output embedding as float32 rows only, its screen.
// The panels and scales are valid as long as `screen`.
std::vector<TensorBytes> with_screen(std::vector<TensorBytes> tensors, const Config& config,
                                     kernels::PackedMatrix& screen);

// Returns how the file's screen differs from one computed from its rows; empty if it does not
// differ or is absent.
std::string screen_difference(const SafeTensors& weights, const Config& config);

}  // namespace residual::model
