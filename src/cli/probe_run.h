#pragma once

#include "cli/probe.h"

namespace residual::cli {

// Runs `residual probe`, in the program that links LibTorch.
void run_probe(const ProbeCommand& command);

}  // namespace residual::cli
