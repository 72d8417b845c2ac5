#include "training_kernels/product.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "base/error.h"

namespace residual::kernels {
namespace {

struct Operand {
  const Matrix<const float>& matrix;
  char transposed;  // 'T' or 'N'
};

// c = a b + beta c
void multiply(const Operand& a, const Operand& b, float beta, const Matrix<float>& c,
              int64_t inner) {
  if (c.rows == 0 || c.columns == 0) return;
  if (inner == 0) {
    if (beta == 0) {
      for (int64_t i = 0; i < c.rows; ++i) std::fill_n(c.data + i * c.stride, c.columns, 0.0F);
    }
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed, b.transposed, c.rows, c.columns, inner, 1, a.matrix.data,
                 a.matrix.stride, b.matrix.data, b.matrix.stride, beta, c.data, c.stride);
  require(status == dnnl_success, "matrix product of {} x {} by {} x {} failed: oneDNN status {}",
          c.rows, inner, inner, c.columns, static_cast<int>(status));
}

}  // namespace

void product(const Matrix<const float>& x, const Matrix<const float>& w, const Matrix<float>& y) {
  multiply({x, 'N'}, {w, 'T'}, 0, y, x.columns);
}

void input_gradient(const Matrix<const float>& dy, const Matrix<const float>& w,
                    const Matrix<float>& dx) {
  multiply({dy, 'N'}, {w, 'N'}, 0, dx, dy.columns);
}

void weight_gradient(const Matrix<const float>& dy, const Matrix<const float>& x,
                     const Matrix<float>& dw, bool add) {
  multiply({dy, 'T'}, {x, 'N'}, add ? 1 : 0, dw, dy.rows);
}

void use_one_thread() { omp_set_num_threads(1); }

}  // namespace residual::kernels
