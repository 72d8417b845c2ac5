#pragma once

#include <string>
#include <vector>

#include "kernels/matrix.h"
#include "model/config.h"
#include "model/safetensors.h"

// The output embedding's screen, see decode/weights.h: the matrix in 16-bit whole numbers beside
// its rows. Models are written with theirs, so that a process need not make it for its first
// sentence; below a megabyte that takes no time.
namespace residual::model {

// `tensors`, and the screen of an output embedding that is among them as float32 rows alone, if
// that is large. Panels and scales last as long as `screen`.
std::vector<TensorBytes> with_screen(std::vector<TensorBytes> tensors, const Config& config,
                                     kernels::PackedMatrix& screen);

// How the file's screen differs from one made of its rows; empty if it does not, or there is none.
std::string screen_difference(const SafeTensors& weights, const Config& config);

}  // namespace residual::model
