#pragma once

namespace residual::ops {

// Makes ATen, oneDNN and the BLAS under ATen work in the calling thread alone when called from it:
// a worker has its own core, and sums inside them depend on the number of threads. OpenBLAS's
// threads, where that is the BLAS, are switched off for the whole process.
void use_one_thread();

}  // namespace residual::ops
