#pragma once

#include <string>
#include <vector>

#include "nn/parameters.h"
#include "schemes/scheme.h"
#include "train/ranks/slices.h"

// How far the backward pass has come when a gradient is final. It runs from the decoder's last
// block down to the encoder's first one; the parameters of schemes, and embeddings, which have
// several uses, are final at its end only.
namespace residual::train {

// The progress once the gradient of block k's input is known: all gradients of this block's
// parameters, and of those above it, are final. Counts from 1.
int stage_of_block(const model::Config& config, schemes::Side side, int k);
int last_stage(const model::Config& config);

int stage_of_parameter(const model::Config& config, const std::string& parameter);

// The stage at which all gradients of each bucket are final.
std::vector<int> bucket_stages(const nn::Parameters& parameters, const Slices& slices);

}  // namespace residual::train
