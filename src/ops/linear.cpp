#include "ops/linear.h"

#include <algorithm>

#include "ops/function.h"
#include "ops/linear_bf16.h"
#include "ops/mode.h"
#include "training_kernels/epilogue.h"
#include "training_kernels/product.h"

namespace residual::ops {
namespace reference {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return at::linear(x, weight, bias);
}

Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Dropout& d) {
  return dropout(at::relu(reference::linear(x, weight, bias)), d);
}

}  // namespace reference
namespace {

using kernels::matrix;

// Rows that pass through a product and its epilogue while they are in the cache.
constexpr int64_t kChunk = 512;

template <class Body>
void in_chunks(int64_t rows, const Body& body) {
  for (int64_t begin = 0; begin < rows; begin += kChunk) {
    body(begin, std::min(kChunk, rows - begin));
  }
}

// Computes x W^T in chunks of rows; epilogue(first row, rows, y) finishes each chunk.
template <class Epilogue>
Tensor multiply(const Tensor& x, const Tensor& w, const Epilogue& epilogue) {
  const int64_t in = x.size(1), out = w.size(0);
  Tensor y = at::empty({x.size(0), out}, x.options());
  in_chunks(x.size(0), [&](int64_t begin, int64_t rows) {
    float* at = y.data_ptr<float>() + begin * out;
    kernels::product(matrix(values(x) + begin * in, rows, in), matrix(values(w), out, in),
                     matrix(at, rows, out));
    epilogue(begin, rows, at);
  });
  return y;
}

// Computes the gradients of rows [begin, begin + rows), given dy of x W^T + b for them.
struct LinearGradient {
  const Tensor &x, &w;
  Tensor dx;
  ParameterGradient dw, db;

  LinearGradient(const Tensor& input, const Tensor& weight, const Tensor& bias)
      : x(input), w(weight), dx(at::empty(x.sizes(), x.options())), dw(weight), db(bias) {}

  void add(int64_t begin, int64_t rows, const float* dy) {
    const int64_t in = x.size(1), out = w.size(0);
    kernels::input_gradient(matrix(dy, rows, out), matrix(values(w), out, in),
                            matrix(dx.data_ptr<float>() + begin * in, rows, in));
    kernels::weight_gradient(matrix(dy, rows, out), matrix(values(x) + begin * in, rows, in),
                             matrix(dw.data(), out, in));
    kernels::add_column_sums(dy, rows, out, db.data());
  }
};

class Linear : public torch::autograd::Function<Linear> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w, const Tensor& b) {
    ctx->save_for_backward({x, w, b});
    return multiply(x, w, [&](int64_t, int64_t rows, float* y) {
      kernels::add_bias(values(b), rows, w.size(0), y);
    });
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const Tensor dy = outputs[0].contiguous();
    LinearGradient gradient(saved[0], saved[1], saved[2]);
    gradient.add(0, dy.size(0), values(dy));
    return {gradient.dx, gradient.dw.returned(), gradient.db.returned()};
  }
};

class LinearRelu : public torch::autograd::Function<LinearRelu> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w, const Tensor& b,
                        const Dropout& dropout) {
    Tensor y = multiply(x, w, [&](int64_t begin, int64_t rows, float* at) {
      kernels::bias_relu_dropout(values(b), dropout, begin * w.size(0), rows, w.size(0), at);
    });
    ctx->save_for_backward({x, w, b, y});
    save_dropout(ctx, dropout);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const Dropout dropout = saved_dropout(ctx);
    const Tensor dy = outputs[0].contiguous(), &y = saved[3];
    const int64_t out = y.size(1);
    LinearGradient gradient(saved[0], saved[1], saved[2]);
    Tensor before = at::empty({std::min(kChunk, y.size(0)), out}, y.options());
    in_chunks(y.size(0), [&](int64_t begin, int64_t rows) {
      kernels::relu_dropout_gradient(values(y) + begin * out, values(dy) + begin * out, dropout,
                                     rows * out, before.data_ptr<float>());
      gradient.add(begin, rows, values(before));
    });
    return {gradient.dx, gradient.dw.returned(), gradient.db.returned(), Tensor()};
  }
};

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Result result) {
  if (bf16_kernels_fit({x, weight, bias})) {
    return linear_bf16(x, weight, bias, result == Result::rows ? at::kFloat : at::kBFloat16);
  }
  if (!kernels_fit({x, weight, bias})) return reference::linear(x, weight, bias);
  return Linear::apply(x.contiguous(), weight.contiguous(), bias.contiguous());
}

Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Dropout& dropout) {
  if (bf16_kernels_fit({x, weight, bias})) return linear_relu_bf16(x, weight, bias, dropout);
  if (!kernels_fit({x, weight, bias})) return reference::linear_relu(x, weight, bias, dropout);
  return LinearRelu::apply(x.contiguous(), weight.contiguous(), bias.contiguous(), dropout);
}

}  // namespace residual::ops
