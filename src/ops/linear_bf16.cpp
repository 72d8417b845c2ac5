#include "ops/linear_bf16.h"

#include <algorithm>

#include "training_kernels/epilogue.h"

namespace residual::ops {
namespace {

using kernels::matrix, kernels::PackedFactor;

// Rows of a product that are finished while they are in the second-level cache.
constexpr int64_t kChunk = 48;
// Rows of a feed-forward block's gradient.
constexpr int64_t kGradientChunk = 512;

template <class Body>
void in_chunks(int64_t rows, int64_t chunk, const Body& body) {
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    body(begin, std::min(chunk, rows - begin));
  }
}

// Sets y, float32 or bfloat16, to a b + bias; finish(first row, rows, values) ends each chunk.
template <class Finish>
void multiply(const kernels::Operand& a, const PackedFactor& b, const float* bias, const Tensor& y,
              const Finish& finish) {
  const int64_t out = b.columns();
  const bool exact = y.scalar_type() == at::kFloat;
  Tensor chunk;
  if (!exact) chunk = at::empty({std::min(kChunk, a.rows), out}, at::kFloat);
  in_chunks(a.rows, kChunk, [&](int64_t begin, int64_t rows) {
    float* to = exact ? y.data_ptr<float>() + begin * out : chunk.data_ptr<float>();
    kernels::multiply(a.part(begin, rows), b, bias, matrix(to, rows, out));
    finish(begin, rows, to);
    if (!exact) kernels::to_bf16(to, rows * out, halves(y) + begin * out);
  });
}

void multiply(const kernels::Operand& a, const PackedFactor& b, const Tensor& y) {
  multiply(a, b, nullptr, y, [](int64_t, int64_t, float*) {});
}

Tensor empty(int64_t rows, int64_t columns, at::ScalarType type) {
  return at::empty({rows, columns}, at::TensorOptions(type));
}

// Adds the gradients of x W^T + b for dy.
struct Gradient {
  const Tensor &x, &w;
  PackedFactor packed;
  Tensor dx;
  ParameterGradient dw, db;

  Gradient(const Tensor& input, const Tensor& weight, const Tensor& bias)
      : x(input),
        w(weight),
        packed(PackedFactor::of(operand(w))),
        dx(empty(x.size(0), x.size(1), x.scalar_type())),
        dw(weight),
        db(bias) {}

  void add(int64_t begin, const kernels::Operand& dy) {
    multiply(dy, packed, dx.narrow(0, begin, dy.rows));
    kernels::weight_gradient(dy, operand(x).part(begin, dy.rows),
                             matrix(dw.data(), w.size(0), w.size(1)), /*add=*/true, db.data());
  }
};

class LinearBf16 : public torch::autograd::Function<LinearBf16> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w, const Tensor& b,
                        at::ScalarType type) {
    ctx->save_for_backward({x, w, b});
    Tensor y = empty(x.size(0), w.size(0), type);
    multiply(operand(x), PackedFactor::of_transposed(operand(w)), values(b), y,
             [](int64_t, int64_t, float*) {});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const Tensor dy = outputs[0].contiguous();
    Gradient gradient(saved[0], saved[1], saved[2]);
    gradient.add(0, operand(dy));
    return {gradient.dx, gradient.dw.returned(), gradient.db.returned(), Tensor()};
  }
};

class LinearReluBf16 : public torch::autograd::Function<LinearReluBf16> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w, const Tensor& b,
                        const Dropout& dropout) {
    const int64_t out = w.size(0);
    Tensor y = empty(x.size(0), out, at::kBFloat16);
    multiply(operand(x), PackedFactor::of_transposed(operand(w)), nullptr, y,
             [&](int64_t begin, int64_t rows, float* at) {
               kernels::bias_relu_dropout(values(b), dropout, begin * out, rows, out, at);
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
    Gradient gradient(saved[0], saved[1], saved[2]);
    const Tensor before = at::empty({std::min(kGradientChunk, y.size(0)), out}, y.options());
    in_chunks(y.size(0), kGradientChunk, [&](int64_t begin, int64_t rows) {
      kernels::relu_dropout_gradient(halves(y) + begin * out, halves(dy) + begin * out, dropout,
                                     rows * out, halves(before));
      gradient.add(begin, operand(before).part(0, rows));
    });
    return {gradient.dx, gradient.dw.returned(), gradient.db.returned(), Tensor()};
  }
};

}  // namespace

Tensor linear_bf16(const Tensor& x, const Tensor& weight, const Tensor& bias, at::ScalarType type) {
  return LinearBf16::apply(x.contiguous(), weight.contiguous(), bias.contiguous(), type);
}

Tensor linear_relu_bf16(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Dropout& dropout) {
  return LinearReluBf16::apply(x.contiguous(), weight.contiguous(), bias.contiguous(), dropout);
}

}  // namespace residual::ops
