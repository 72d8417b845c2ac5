#include "ops/norm.h"

#include "ops/function.h"
#include "ops/mode.h"
#include "training_kernels/add_norm.h"

namespace residual::ops {
namespace reference {

Tensor norm(const Tensor& x, const Affine& ln) {
  if (ln.is_rms) {
    const Tensor y = x * (x.square().mean(-1, /*keepdim=*/true) + ln.epsilon).rsqrt();
    return ln.weight.defined() ? y * ln.weight : y;
  }
  return at::layer_norm(x, {x.size(-1)}, ln.weight, ln.bias, ln.epsilon);
}

Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln) {
  return reference::norm(x + dropout(branch.f, branch.dropout), ln);
}

std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln) {
  const Tensor f = dropout(branch.f, branch.dropout);
  return {reference::norm(x + f, ln), at::add(d, f, eta)};
}

Tensor add(const Tensor& x, double c, const Branch& branch) {
  return at::add(x, dropout(branch.f, branch.dropout), c);
}

}  // namespace reference
namespace {

struct Parameters {
  double epsilon, eta;
  Dropout dropout;
  bool is_rms;
};

float* writable(Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }

// Returns {LN(x + drop(f)), d + eta drop(f)}. f and d may be undefined; the second result is then
// undefined too. RMSNorm has no bias.
class AddNorm : public torch::autograd::Function<AddNorm> {
 public:
  static variable_list forward(AutogradContext* ctx, const Tensor& x, const Maybe& maybe_f,
                               const Maybe& maybe_d, const Tensor& weight, const Maybe& maybe_bias,
                               const Parameters& p) {
    const Tensor f = maybe_f.value_or(Tensor()), d = maybe_d.value_or(Tensor());
    const Tensor bias = maybe_bias.value_or(Tensor());
    const int64_t width = x.size(-1), rows = x.numel() / width;
    Tensor y = at::empty(x.sizes(), x.options());
    Tensor mean = at::empty({rows}, x.options()), rstd = at::empty({rows}, x.options());
    Tensor sum = f.defined() ? at::empty(x.sizes(), x.options()) : x;
    Tensor d_out = d.defined() ? at::empty(x.sizes(), x.options()) : Tensor();
    kernels::add_norm({.rows = rows,
                       .width = width,
                       .epsilon = static_cast<float>(p.epsilon),
                       .eta = static_cast<float>(p.eta),
                       .is_rms = p.is_rms,
                       .dropout = p.dropout,
                       .x = values(x),
                       .f = values(f),
                       .d = values(d),
                       .weight = values(weight),
                       .bias = values(bias),
                       .y = writable(y),
                       .d_out = writable(d_out),
                       .sum = sum.data_ptr<float>(),
                       .mean = writable(mean),
                       .rstd = writable(rstd)});
    ctx->save_for_backward({sum, mean, rstd, weight, bias});
    ctx->saved_data["eta"] = p.eta;
    save_dropout(ctx, p.dropout);
    ctx->saved_data["has_f"] = f.defined();
    ctx->saved_data["is_rms"] = p.is_rms;
    if (d.defined()) return {y, d_out};
    return {y};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const Tensor& sum = saved[0];
    const bool has_f = ctx->saved_data["has_f"].toBool();
    const Tensor dy = outputs[0].contiguous();
    const Tensor dd = outputs.size() > 1 ? outputs[1].contiguous() : Tensor();
    Tensor dx = at::empty(sum.sizes(), sum.options());
    Tensor df = has_f ? at::empty(sum.sizes(), sum.options()) : Tensor();
    const bool is_rms = ctx->saved_data["is_rms"].toBool();
    ParameterGradient dweight(saved[3]), dbias(is_rms ? saved[3] : saved[4]);
    const int64_t width = sum.size(-1);
    kernels::add_norm_gradient({.rows = sum.numel() / width,
                                .width = width,
                                .eta = static_cast<float>(ctx->saved_data["eta"].toDouble()),
                                .is_rms = is_rms,
                                .dropout = saved_dropout(ctx),
                                .dy = values(dy),
                                .dd = values(dd),
                                .sum = values(sum),
                                .mean = values(saved[1]),
                                .rstd = values(saved[2]),
                                .weight = values(saved[3]),
                                .dx = writable(dx),
                                .df = writable(df),
                                .dweight = dweight.data(),
                                .dbias = dbias.data()});
    return {dx, df, dd, dweight.returned(), is_rms ? Tensor() : dbias.returned(), Tensor()};
  }
};

// x + c drop(f).
class AddDropped : public torch::autograd::Function<AddDropped> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& f, double c,
                        const Dropout& dropout) {
    ctx->saved_data["c"] = c;
    save_dropout(ctx, dropout);
    return add_dropped(x, f, c, dropout);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const Tensor dy = outputs[0].contiguous();
    const double c = ctx->saved_data["c"].toDouble();
    return {dy, add_dropped({}, dy, c, saved_dropout(ctx)), Tensor(), Tensor()};
  }

 private:
  static Tensor add_dropped(const Tensor& x, const Tensor& f, double c, const Dropout& dropout) {
    Tensor y = at::empty(f.sizes(), f.options());
    kernels::add_dropped({.count = f.numel(),
                          .c = static_cast<float>(c),
                          .dropout = dropout,
                          .x = values(x),
                          .f = values(f),
                          .y = writable(y)});
    return y;
  }
};

variable_list apply(const Tensor& x, const Maybe& f, const Maybe& d, const Affine& ln, double eta,
                    const Dropout& dropout) {
  return AddNorm::apply(x.contiguous(), f, d, ln.weight.contiguous(),
                        ln.is_rms ? Maybe() : Maybe(ln.bias.contiguous()),
                        Parameters{ln.epsilon, eta, dropout, ln.is_rms});
}

}  // namespace

Tensor norm(const Tensor& x, const Affine& ln) {
  if (!kernels_fit({x, ln.weight, ln.bias})) return reference::norm(x, ln);
  return apply(x, Maybe(), Maybe(), ln, 1, {})[0];
}

Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln) {
  if (!kernels_fit({x, branch.f, ln.weight})) return reference::add_norm(x, branch, ln);
  return apply(x, Maybe(branch.f.contiguous()), Maybe(), ln, 1, branch.dropout)[0];
}

std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln) {
  if (!kernels_fit({x, d, branch.f, ln.weight})) {
    return reference::dual_add_norm(x, d, branch, eta, ln);
  }
  const auto out =
      apply(x, Maybe(branch.f.contiguous()), Maybe(d.contiguous()), ln, eta, branch.dropout);
  return {out[0], out[1]};
}

Tensor add(const Tensor& x, double c, const Branch& branch) {
  if (!kernels_fit({x, branch.f})) return reference::add(x, c, branch);
  return AddDropped::apply(x.contiguous(), branch.f.contiguous(), c, branch.dropout);
}

}  // namespace residual::ops
