#include "probe/streams.h"

#include <string>
#include <tuple>
#include <utility>

#include "ops/norm.h"
#include "schemes/registry.h"

namespace residual::probe {
namespace {

// The record of a block's output in the streams.
struct BlockNote {
  Tensor seen;                 // the sum that the block saw scaled or normalised
  Tensor joined, sum;          // the first sum it joins: before and after
  std::vector<double> shares;  // share in every sum it joins
};

// Rows of a stream.
struct Rows {
  Tensor value;
  Tensor sum;  // these rows are this sum, scaled or normalised; the embedding counts as a sum
  BlockNote* note = nullptr;  // of the block that produced the rows

  // Rows computed from these rows alone.
  Rows with(Tensor other) const { return {std::move(other), sum, note}; }
};

double row_variance(const Tensor& x) { return x.var(1, /*unbiased=*/false).mean().item<double>(); }

// Adds x + branch, where `branch` is f times the scheme's factor.
Rows join(const Rows& x, const Tensor& branch, const Rows& f) {
  const Tensor sum = x.value + branch;
  if (f.note != nullptr) {
    const at::NoGradGuard no_grad;
    if (f.note->shares.empty()) {
      f.note->joined = x.sum;
      f.note->sum = sum;
    }
    f.note->shares.push_back(row_variance(branch) / row_variance(sum));
  }
  return {sum, sum};
}

// An arithmetic for schemes/ that records every sum.
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
      return x.with(
          at::layer_norm(x.value, {x.value.size(1)}, affine.weight, affine.bias, affine.epsilon));
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
Rows scale(const Rows& x, double c) { return x.with(x.value * c); }
Rows scale(const StreamArithmetic::Scalar& c, const Rows& x) { return x.with(c.value * x.value); }
Rows scale(const StreamArithmetic::Vector& w, const Rows& x) { return x.with(w.values * x.value); }
// Only calibrate(), a part of training, calls this; the probe runs the streams with its results.
double variance(const Rows& x) { return x.value.var(/*unbiased=*/false).item<double>(); }
void assign(const StreamArithmetic::Vector& w, double c) {
  at::Tensor values = w.values;
  values.fill_(c);
}

class GivenBlocks final : public schemes::Blocks<StreamArithmetic> {
 public:
  // `notes`: one for each block, or none.
  GivenBlocks(std::span<const at::Tensor> outputs, int per_layer, std::span<BlockNote> notes,
              std::vector<at::Tensor>& inputs)
      : Blocks(static_cast<int>(outputs.size()), per_layer),
        outputs_(outputs),
        notes_(notes),
        inputs_(inputs) {}

  Rows operator()(int k, const Rows& x) const override {
    inputs_.push_back(x.value);
    if (notes_.empty()) return {outputs_[k], outputs_[k]};
    notes_[k].seen = x.sum;
    return {outputs_[k], outputs_[k], &notes_[k]};
  }

 private:
  std::span<const at::Tensor> outputs_;
  std::span<BlockNote> notes_;
  std::vector<at::Tensor>& inputs_;
};

void add_notes(std::span<const BlockNote> notes, StreamRun& run) {
  for (const auto& note : notes) run.shares.push_back(note.shares);
  for (size_t k = 0; k + 1 < notes.size(); ++k) {
    const BlockNote& note = notes[k];
    run.passes_sum.push_back(!note.shares.empty() && note.joined.is_same(note.seen) &&
                             note.sum.is_same(notes[k + 1].seen));
  }
}

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
  std::vector<BlockNote> notes(spec.shares ? outputs.size() : 0);
  StreamArithmetic arithmetic(spec);
  const auto scheme = schemes::make(arithmetic, spec.stack, spec.scheme);
  const GivenBlocks blocks(outputs, spec.stack.blocks_per_layer, notes, run.inputs);
  run.y = scheme->forward({embedded, embedded}, blocks).value;
  add_notes(notes, run);
  return run;
}

Tensor replay(const nn::Parameters& parameters, const StackTrace& trace,
              const schemes::Options& scheme, int layers) {
  const auto blocks = static_cast<size_t>(layers) * static_cast<size_t>(trace.per_layer);
  return run_streams(spec_of(parameters, trace, scheme), trace.embedded,
                     std::span(trace.outputs).first(blocks))
      .y;
}

StreamRun measure_streams(const nn::Parameters& parameters, const StackTrace& trace) {
  const at::NoGradGuard no_grad;
  StreamSpec spec = spec_of(parameters, trace, parameters.config().residual);
  spec.shares = true;
  return run_streams(spec, trace.embedded, trace.outputs);
}

}  // namespace residual::probe
