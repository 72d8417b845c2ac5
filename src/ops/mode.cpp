#include "ops/mode.h"

#include <atomic>

#include "ops/autocast.h"

namespace residual::ops {
namespace {

std::atomic<Mode> current = Mode::fused;
thread_local Products current_products = Products::float32;

template <class Fits>
bool fit(std::initializer_list<Tensor> tensors, const Fits& type_fits) {
  if (mode() != Mode::fused || autocast_enabled_on_cpu()) return false;
  for (const auto& tensor : tensors) {
    if (tensor.defined() && (!tensor.is_cpu() || !type_fits(tensor.scalar_type()))) return false;
  }
  return true;
}

}  // namespace

void set_mode(Mode mode) { current = mode; }
Mode mode() { return current; }

void set_products(Products products) { current_products = products; }
Products products() { return current_products; }

bool kernels_fit(std::initializer_list<Tensor> tensors) {
  return fit(tensors, [](at::ScalarType type) { return type == at::kFloat; });
}

bool bf16_kernels_fit(std::initializer_list<Tensor> tensors) {
  return products() == Products::bfloat16 && fit(tensors, [](at::ScalarType type) {
           return type == at::kFloat || type == at::kBFloat16;
         });
}

}  // namespace residual::ops
