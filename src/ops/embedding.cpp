#include "ops/embedding.h"

#include <cmath>

#include "ops/function.h"
#include "ops/mode.h"
#include "training_kernels/epilogue.h"

namespace residual::ops {
namespace {

double factor_of(const Tensor& embedding, double given) {
  return given > 0 ? given : std::sqrt(static_cast<double>(embedding.size(1)));
}

}  // namespace

namespace reference {

Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& d, double factor) {
  return dropout(at::embedding(embedding, ids) * factor_of(embedding, factor) +
                     table.index_select(0, positions),
                 d);
}

}  // namespace reference
namespace {

kernels::Lookup lookup(const Tensor& ids, const Tensor& embedding, const Dropout& dropout,
                       double factor) {
  return {.rows = ids.numel(),
          .width = embedding.size(1),
          .factor = static_cast<float>(factor),
          .dropout = dropout,
          .ids = ids.data_ptr<int64_t>()};
}

class Embed : public torch::autograd::Function<Embed> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& embedding, const Tensor& ids,
                        const Tensor& positions, const Tensor& table, const Dropout& dropout,
                        double factor) {
    ctx->save_for_backward({embedding, ids});
    ctx->saved_data["factor"] = factor;
    save_dropout(ctx, dropout);
    kernels::Lookup p = lookup(ids, embedding, dropout, factor);
    p.places = positions.data_ptr<int64_t>();
    p.table = embedding.data_ptr<float>();
    p.positions = table.data_ptr<float>();
    Tensor y = at::empty({p.rows, p.width}, embedding.options());
    kernels::look_up(p, y.data_ptr<float>());
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const Tensor dy = outputs[0].contiguous();
    ParameterGradient gradient(saved[0]);
    const double factor = ctx->saved_data["factor"].toDouble();
    kernels::look_up_gradient(lookup(saved[1], saved[0], saved_dropout(ctx), factor),
                              dy.data_ptr<float>(), gradient.data());
    return {gradient.returned(), Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout, double factor) {
  if (!kernels_fit({embedding, table}) || table.requires_grad()) {
    return reference::embed(ids, positions, embedding, table, dropout, factor);
  }
  return Embed::apply(embedding.contiguous(), ids.contiguous(), positions.contiguous(),
                      table.contiguous(), dropout, factor_of(embedding, factor));
}

}  // namespace residual::ops
