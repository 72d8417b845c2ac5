#include "ops/norm.h"

namespace residual::ops::reference {

Tensor norm(const Tensor& x, const Affine& ln) {
  return at::layer_norm(x, {x.size(-1)}, ln.weight, ln.bias, ln.epsilon);
}

Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln) {
  return norm(x + dropout(branch.f, branch.dropout), ln);
}

std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln) {
  const Tensor f = dropout(branch.f, branch.dropout);
  return {norm(x + f, ln), at::add(d, f, eta)};
}

Tensor add(const Tensor& x, double c, const Branch& branch) {
  return at::add(x, dropout(branch.f, branch.dropout), c);
}

}  // namespace residual::ops::reference
