#pragma once

#include "cli/probe.h"

namespace residual::cli {

// What `residual probe` does, in the program that has LibTorch.
void run_probe(const ProbeCommand& command);

}  // namespace residual::cli
