#include "ops/recompute.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>

#include <utility>

#include "ops/function.h"
#include "ops/mode.h"

namespace residual::ops {
namespace {

// The function and the thread's settings: the recomputation must use the same precision.
struct Saved : torch::CustomClassHolder {
  explicit Saved(RowsFunction function) : f(std::move(function)) {}

  RowsFunction f;
  at::ThreadLocalState settings;
  Products products = ops::products();
};

class WithProducts {
 public:
  explicit WithProducts(Products products) : before_(ops::products()) { set_products(products); }
  ~WithProducts() { set_products(before_); }
  WithProducts(const WithProducts&) = delete;
  WithProducts& operator=(const WithProducts&) = delete;

 private:
  Products before_;
};

Tensor leaf(const Tensor& input) {
  if (!input.defined()) return {};
  return input.detach().set_requires_grad(input.requires_grad());
}

Tensor gradient_of(const Tensor& input) { return input.defined() ? input.grad() : Tensor(); }

class Recompute : public torch::autograd::Function<Recompute> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& memory,
                        const c10::intrusive_ptr<Saved>& saved) {
    ctx->save_for_backward({x, memory.value_or(Tensor())});
    ctx->saved_data["function"] = at::IValue::make_capsule(saved);
    return saved->f(x, memory.value_or(Tensor()));
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto inputs = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["function"].toCapsule();
    const Saved& saved = static_cast<const Saved&>(*capsule);
    const Tensor x = leaf(inputs[0]), memory = leaf(inputs[1]);
    Tensor y;
    {
      const at::ThreadLocalStateGuard settings(saved.settings);
      const WithProducts products(saved.products);
      y = saved.f(x, memory);
      at::autocast::clear_cache();  // its cached casts of weights would be stale after the next
                                    // update
    }
    y.backward(outputs[0]);
    return {gradient_of(x), gradient_of(memory), Tensor()};
  }
};

}  // namespace

Tensor recompute(RowsFunction f, const Tensor& x, const Tensor& memory) {
  if (!at::GradMode::is_enabled()) return f(x, memory);
  return Recompute::apply(x, memory.defined() ? Maybe(memory) : Maybe(),
                          c10::make_intrusive<Saved>(std::move(f)));
}

}  // namespace residual::ops
