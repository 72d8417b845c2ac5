#include "probe/streams.h"

#include <string>
#include <tuple>
#include <utility>

#include "ops/norm.h"
#include "schemes/registry.h"

namespace residual::probe {
namespace {

// Rows of a stream. A block's output knows where to note its share of the sums it joins.
struct Rows {
  Tensor value;
  std::vector<double>* shares = nullptr;
};

double row_variance(const Tensor& x) { return x.var(1, /*unbiased=*/false).mean().item<double>(); }

// x + branch, where `branch` is f times what the scheme wants.
Rows join(const Rows& x, const Tensor& branch, const Rows& f) {
  Rows sum{x.value + branch};
  if (f.shares != nullptr) {
    const at::NoGradGuard no_grad;
    f.shares->push_back(row_variance(branch) / row_variance(sum.value));
  }
  return sum;
}

// An arithmetic for schemes/ that looks at every sum.
class StreamArithmetic {
 public:
  using Tensor = Rows;

  struct Vector {
    at::Tensor values;
  };
  struct Scalar {
    at::Tensor value;
  };
  struct Norm {
    ops::Affine affine;

    Rows operator()(const Rows& x) const {
      return {
          at::layer_norm(x.value, {x.value.size(1)}, affine.weight, affine.bias, affine.epsilon)};
    }
    Rows add(const Rows& x, const Rows& f) const { return (*this)(join(x, f.value, f)); }
    std::tuple<Rows, Rows> add_both(const Rows& x, const Rows& d, const Rows& f, double eta) const {
      Rows normed = add(x, f);
      return {std::move(normed), join(d, f.value * eta, f)};
    }
  };

  explicit StreamArithmetic(const StreamSpec& spec)
      : parameters_(spec.parameters),
        prefix_(spec.stack.side == Side::encoder ? "encoder.residual." : "decoder.residual.") {}

  Norm norm(const std::string& name, double epsilon) const {
    if (parameters_ == nullptr) return {{{}, {}, epsilon}};
    return {{find(name + ".weight", 1), find(name + ".bias", 0), epsilon}};
  }
  Vector vector(const std::string& name, double value) const { return {find(name, value)}; }
  Scalar scalar(const std::string& name, double value) const { return {find(name, value)}; }

 private:
  at::Tensor find(const std::string& name, double start) const {
    return parameters_ == nullptr ? at::scalar_tensor(start, at::kDouble)
                                  : parameters_->at(prefix_ + name);
  }

  const nn::Parameters* parameters_;
  std::string prefix_;
};

Rows add(const Rows& x, double c, const Rows& f) { return join(x, f.value * c, f); }
Rows add(const Rows& x, const Rows& f) { return join(x, f.value, f); }
Rows add(const Rows& x, const StreamArithmetic::Scalar& c, const Rows& f) {
  return join(x, c.value * f.value, f);
}
Rows scale(const Rows& x, double c) { return {x.value * c}; }
Rows scale(const StreamArithmetic::Scalar& c, const Rows& x) { return {c.value * x.value}; }
Rows scale(const StreamArithmetic::Vector& w, const Rows& x) { return {w.values * x.value}; }
// For calibrate(), which belongs to training: the streams are run with what it left.
double variance(const Rows& x) { return x.value.var(/*unbiased=*/false).item<double>(); }
void assign(const StreamArithmetic::Vector& w, double c) {
  at::Tensor values = w.values;
  values.fill_(c);
}

class GivenBlocks final : public schemes::Blocks<StreamArithmetic> {
 public:
  GivenBlocks(std::span<const at::Tensor> outputs, int per_layer, StreamRun& run)
      : Blocks(static_cast<int>(outputs.size()), per_layer), outputs_(outputs), run_(run) {}

  Rows operator()(int k, const Rows& x) const override {
    run_.inputs.push_back(x.value);
    return {outputs_[k], run_.shares.empty() ? nullptr : &run_.shares[k]};
  }

 private:
  std::span<const at::Tensor> outputs_;
  StreamRun& run_;
};

StreamSpec spec_of(const nn::Parameters& parameters, const StackTrace& trace,
                   const schemes::Options& scheme) {
  return {.stack = model::stack(parameters.config(), trace.side),
          .scheme = scheme,
          .parameters = &parameters};
}

}  // namespace

StreamRun run_streams(const StreamSpec& spec, const Tensor& embedded,
                      std::span<const Tensor> outputs) {
  StreamRun run;
  if (spec.shares) run.shares.resize(outputs.size());
  StreamArithmetic arithmetic(spec);
  const auto scheme = schemes::make(arithmetic, spec.stack, spec.scheme);
  const GivenBlocks blocks(outputs, spec.stack.blocks_per_layer, run);
  run.y = scheme->forward({embedded}, blocks).value;
  return run;
}

Tensor replay(const nn::Parameters& parameters, const StackTrace& trace,
              const schemes::Options& scheme, int layers) {
  const auto blocks = static_cast<size_t>(layers) * static_cast<size_t>(trace.per_layer);
  return run_streams(spec_of(parameters, trace, scheme), trace.embedded,
                     std::span(trace.outputs).first(blocks))
      .y;
}

Shares branch_shares(const nn::Parameters& parameters, const StackTrace& trace) {
  const at::NoGradGuard no_grad;
  StreamSpec spec = spec_of(parameters, trace, parameters.config().residual);
  spec.shares = true;
  return run_streams(spec, trace.embedded, trace.outputs).shares;
}

}  // namespace residual::probe
