#include "ops/function.h"

namespace residual::ops {

void save_dropout(AutogradContext* ctx, const Dropout& dropout) {
  ctx->saved_data["rate"] = dropout.rate;
  ctx->saved_data["key"] = static_cast<int64_t>(dropout.key);
}

Dropout saved_dropout(AutogradContext* ctx) {
  return {.rate = ctx->saved_data["rate"].toDouble(),
          .key = static_cast<uint64_t>(ctx->saved_data["key"].toInt())};
}

ParameterGradient::ParameterGradient(const Tensor& parameter)
    : sum_(parameter.is_leaf() ? parameter.grad() : Tensor()),
      in_place_(sum_.defined() && sum_.is_contiguous()) {
  if (!in_place_) sum_ = at::zeros(parameter.sizes(), parameter.options().requires_grad(false));
}

}  // namespace residual::ops
