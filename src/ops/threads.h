#pragma once

namespace residual::ops {

// Makes ATen, oneDNN and ATen's BLAS use only the calling thread when called from it: each worker
// has one core, and sums inside these libraries depend on the number of threads. If the BLAS is
// OpenBLAS, its threads are switched off for the whole process.
void use_one_thread();

}  // namespace residual::ops
