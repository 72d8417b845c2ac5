#pragma once

#include <cstdint>

namespace residual::kernels {

// A row-major matrix [rows, columns] whose rows are `stride` elements apart.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t stride = 0;
};

template <class T>
Matrix<T> matrix(T* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}

// Products of float32 matrices for training, by oneDNN: on the CPUs measured it reaches the peak of
// a core for all three layouts (docs/results/train-speed.md). One library serves all shapes,
// because a choice by speed could differ between a run and its resumption and change the results.
// Products run in the calling thread if it has called use_one_thread(). An empty matrix is allowed.
//
// y = x W^T                 a linear layer's output
void product(const Matrix<const float>& x, const Matrix<const float>& w, const Matrix<float>& y);
// dx = dy W                 the gradient of its input
void input_gradient(const Matrix<const float>& dy, const Matrix<const float>& w,
                    const Matrix<float>& dx);
// dw = dy^T x               the gradient of its weights; with `add`, added to dw
void weight_gradient(const Matrix<const float>& dy, const Matrix<const float>& x,
                     const Matrix<float>& dw, bool add = true);

// Makes oneDNN, and everything else that uses OpenMP, use only the calling thread when called from
// it, because each worker has one core.
void use_one_thread();

}  // namespace residual::kernels
