#include "ops/dropout.h"

#include <ATen/Context.h>

#include <mutex>

namespace residual::ops::reference {
namespace {

// Returns the dropout factors of the elements from `begin` on as a tensor of the given sizes.
Tensor factors(const Dropout& dropout, int64_t begin, at::IntArrayRef sizes, const Tensor& like) {
  Tensor made = at::empty(sizes, like.options().dtype(at::kFloat).requires_grad(false));
  kernels::dropout_factors(dropout, begin, made.numel(), made.data_ptr<float>());
  return made.to(like.scalar_type());
}

// Uses the device's generator, seeded with the key.
Tensor dropout_on_device(const Tensor& x, const Dropout& d) {
  {
    at::Generator generator = at::globalContext().defaultGenerator(x.device());
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(d.key);
  }
  return at::dropout(x, d.rate, /*train=*/true);
}

}  // namespace

Tensor dropout(const Tensor& x, const Dropout& d) {
  if (!d.on()) return x;
  if (!x.is_cpu()) return dropout_on_device(x, d);
  return x * factors(d, 0, x.sizes(), x);
}

Tensor dropout_probabilities(const Tensor& p, const Segments& queries, const Segments& keys,
                             const Dropout& d) {
  if (!d.on()) return p;
  if (!p.is_cpu()) return dropout_on_device(p, d);
  const int64_t heads = p.size(1);
  Tensor mask = at::zeros(p.sizes(), p.options().requires_grad(false));
  int64_t begin = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const int64_t nq = queries.length(s), nk = keys.length(s);
    mask[s].narrow(1, 0, nq).narrow(2, 0, nk).copy_(factors(d, begin, {heads, nq, nk}, p));
    begin += heads * nq * nk;
  }
  return p * mask;
}

}  // namespace residual::ops::reference
