#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "run/config.h"

namespace residual::run {

// The bytes a run will need, estimated before it starts.
struct MemoryEstimate {
  int64_t parameters = 0;   // one copy
  int64_t gradients = 0;    // one buffer per worker
  int64_t moments = 0;      // Adam's moments, and the parameters' average
  int64_t checkpoint = 0;   // the copy that is written while training continues
  int64_t activations = 0;  // of one full batch, until its backward pass is done

  int64_t total() const { return parameters + gradients + moments + checkpoint + activations; }
};

// REQUIRES: the configuration is resolved. Activations are those of the CPU's operators
// (memory.cpp counts them), for sentences of typical length. The estimate is for one process.
MemoryEstimate estimate_memory(const TrainConfig& config, int processes = 1);

// The memory the process can still allocate: the smaller of the machine's free memory and the
// control group's remainder; -1 if neither is known.
int64_t available_memory();

// The memory left below the control groups' limits; page cache does not count as used. Returns
// the largest number if there is no limit.
int64_t left_of_groups(const std::vector<fs::path>& groups);

// Fails if the estimate exceeds `available`, with advice; warns if it takes most of it.
void require_memory(const TrainConfig& config, int64_t available, int processes = 1);

// "100.0 MB", "1.20 GB".
std::string format_memory(int64_t bytes);

// "parameters 100.0 MB, gradients 200.0 MB, ..., together 1.20 GB".
std::string describe(const MemoryEstimate& estimate);

}  // namespace residual::run
