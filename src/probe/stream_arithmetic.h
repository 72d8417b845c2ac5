#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/arithmetic.h"
#include "nn/parameters.h"
#include "ops/gates.h"
#include "ops/norm.h"
#include "schemes/scheme.h"

// The arithmetic of probes for schemes/: autograd tensors, with a note of every sum.
namespace residual::probe {

// What becomes of a block's output.
struct BlockNote {
  at::Tensor seen;             // the sum that the block saw, scaled or normalised
  at::Tensor joined, sum;      // the first sum it joins: before and after
  std::vector<double> shares;  // of all it joins
};

// Rows of a stream.
struct StreamRows {
  at::Tensor value;
  at::Tensor sum;             // of which they are scaled or normalised; the embedding counts as one
  BlockNote* note = nullptr;  // of the block that gave them

  // What has been made of these rows alone.
  StreamRows with(at::Tensor other) const { return {std::move(other), sum, note}; }
};

inline double row_variance(const at::Tensor& x) {
  return x.var(1, /*unbiased=*/false).mean().item<double>();
}

// x + branch, where `branch` is f times what the scheme wants.
inline StreamRows join(const StreamRows& x, const at::Tensor& branch, const StreamRows& f) {
  const at::Tensor sum = x.value + branch;
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

// An arithmetic for schemes/ that looks at every sum.
class StreamArithmetic {
 public:
  using Tensor = StreamRows;

  using Vector = nn::Arithmetic::Vector;
  using Scalar = nn::Arithmetic::Scalar;
  struct Vectors {
    at::Tensor values;  // [m, d]; as they start: [m, 1]
  };
  struct Numbers {
    at::Tensor values;
  };
  using Gates = ops::Gates;
  struct Norm {
    ops::Affine affine;

    StreamRows operator()(const StreamRows& x) const {
      return x.with(ops::reference::norm(x.value, affine));
    }
    StreamRows add(const StreamRows& x, const StreamRows& f) const {
      return (*this)(join(x, f.value, f));
    }
    std::tuple<StreamRows, StreamRows> add_both(const StreamRows& x, const StreamRows& d,
                                                const StreamRows& f, double eta) const {
      StreamRows normed = add(x, f);
      return {std::move(normed), join(d, f.value * eta, f)};
    }
  };

  // `parameters`: of the model; null: as they start.
  StreamArithmetic(const nn::Parameters* parameters, schemes::Side side)
      : parameters_(parameters),
        prefix_(side == schemes::Side::encoder ? "encoder.residual." : "decoder.residual.") {}

  Norm norm(const std::string& name, double epsilon) const {
    if (parameters_ == nullptr) return {{{}, {}, epsilon}};
    return {nn::find_norm(*parameters_, prefix_ + name, epsilon)};
  }
  Vector vector(const std::string& name, double value) const { return {find(name, value)}; }
  Scalar scalar(const std::string& name, double value) const { return {find(name, value)}; }
  Vectors vectors(const std::string& name, int count, double value) const {
    const at::Tensor found = find(name, value);
    return {parameters_ == nullptr ? found.expand({count, 1}) : found.view({count, -1})};
  }
  Numbers numbers(const std::string& name, int count, double value) const {
    return {find(name, value).expand({count})};
  }

 private:
  at::Tensor find(const std::string& name, double start) const {
    return parameters_ == nullptr ? at::scalar_tensor(start, at::kDouble)
                                  : parameters_->at(prefix_ + name);
  }

  const nn::Parameters* parameters_;
  std::string prefix_;
};

inline StreamRows add(const StreamRows& x, double c, const StreamRows& f) {
  return join(x, f.value * c, f);
}
inline StreamRows add(const StreamRows& x, const StreamRows& f) { return join(x, f.value, f); }
inline StreamRows add(const StreamRows& x, const StreamArithmetic::Scalar& c, const StreamRows& f) {
  return join(x, c.value * f.value, f);
}
inline StreamRows scale(const StreamRows& x, double c) { return x.with(x.value * c); }
inline StreamRows scale(const StreamArithmetic::Scalar& c, const StreamRows& x) {
  return x.with(c.value * x.value);
}
inline StreamRows scale(const StreamArithmetic::Vector& w, const StreamRows& x) {
  return x.with(w.values * x.value);
}
inline ops::Gates dots(const StreamArithmetic::Vectors& w, const StreamRows& x) {
  return ops::dots(w.values.to(x.value.scalar_type()), x.value);
}
inline ops::Gates constant(const StreamArithmetic::Numbers& b, const std::vector<double>& start) {
  return ops::constant(b.values, start);
}
inline ops::Gates over_rms(const ops::Gates& g, const std::vector<StreamRows>& streams,
                           double epsilon) {
  std::vector<at::Tensor> values;
  for (const StreamRows& x : streams) values.push_back(x.value);
  return ops::over_rms(g, values, epsilon);
}
inline StreamRows add(const StreamRows& x, const ops::Gates& g, int column, const StreamRows& f) {
  return join(x, ops::scale(g, column, f.value), f);
}
// A sum of streams, one after the other.
inline StreamRows mix(const ops::Gates& g, int first, int stride,
                      const std::vector<StreamRows>& streams) {
  StreamRows sum = streams[0].with(ops::scale(g, first, streams[0].value));
  for (size_t i = 1; i < streams.size(); ++i)
    sum = add(sum, g, first + static_cast<int>(i) * stride, streams[i]);
  return sum;
}
// For calibrate(), which belongs to training: the streams are run with what it left. assign() is
// that of nn.
inline double variance(const StreamRows& x) {
  return x.value.var(/*unbiased=*/false).item<double>();
}

static_assert(schemes::GatedArithmetic<StreamArithmetic>);

}  // namespace residual::probe
