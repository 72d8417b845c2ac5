#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "schemes/scheme.h"

namespace residual::schemes {

// A parameter that a scheme declares, and what it starts as.
struct Declared {
  std::string name;  // within its stack: "norm.3.weight"
  int64_t size;      // width or a multiple, or a few numbers
  double value;
};

// An arithmetic without numbers: a scheme made on it only leaves its list of parameters.
class Listing {
 public:
  struct Tensor {};
  struct Vector {};
  struct Scalar {};
  struct Gates {};
  struct Vectors {};
  struct Numbers {};
  struct Norm {
    Tensor operator()(Tensor) const { return {}; }
    Tensor add(Tensor, Tensor) const { return {}; }
    std::tuple<Tensor, Tensor> add_both(Tensor, Tensor, Tensor, double) const { return {}; }
  };

  explicit Listing(int64_t width, bool norms_have_bias = true)
      : width_(width), norms_have_bias_(norms_have_bias) {}

  Norm norm(const std::string& name, double /*epsilon*/) {
    parameters_.push_back({name + ".weight", width_, 1});
    if (norms_have_bias_) parameters_.push_back({name + ".bias", width_, 0});
    return {};
  }
  Vector vector(const std::string& name, double value) {
    parameters_.push_back({name, width_, value});
    return {};
  }
  Scalar scalar(const std::string& name, double value) {
    parameters_.push_back({name, 1, value});
    return {};
  }

  Vectors vectors(const std::string& name, int count, double value) {
    parameters_.push_back({name, count * width_, value});
    return {};
  }
  Numbers numbers(const std::string& name, int count, double value) {
    parameters_.push_back({name, count, value});
    return {};
  }

  const std::vector<Declared>& parameters() const { return parameters_; }

 private:
  int64_t width_;
  bool norms_have_bias_;
  std::vector<Declared> parameters_;
};

inline Listing::Tensor add(Listing::Tensor, Listing::Tensor) { return {}; }
inline Listing::Tensor add(Listing::Tensor, double, Listing::Tensor) { return {}; }
inline Listing::Tensor add(Listing::Tensor, Listing::Scalar, Listing::Tensor) { return {}; }
inline Listing::Tensor scale(Listing::Tensor, double) { return {}; }
inline Listing::Tensor scale(Listing::Scalar, Listing::Tensor) { return {}; }
inline Listing::Tensor scale(Listing::Vector, Listing::Tensor) { return {}; }
inline Listing::Gates dots(Listing::Vectors, Listing::Tensor) { return {}; }
inline Listing::Gates constant(Listing::Numbers, const std::vector<double>&) { return {}; }
inline Listing::Gates add(Listing::Gates, Listing::Gates) { return {}; }
inline Listing::Gates scale(Listing::Scalar, Listing::Gates) { return {}; }
inline Listing::Gates over_rms(Listing::Gates, const std::vector<Listing::Tensor>&, double) {
  return {};
}
inline Listing::Gates columns(Listing::Gates, int, int) { return {}; }
inline Listing::Gates join(const std::vector<Listing::Gates>&) { return {}; }
inline Listing::Gates tanh(Listing::Gates) { return {}; }
inline Listing::Gates sigmoid(Listing::Gates, double) { return {}; }
inline Listing::Gates softmax(Listing::Gates) { return {}; }
inline Listing::Gates sinkhorn(Listing::Gates, int) { return {}; }
inline Listing::Tensor mix(Listing::Gates, int, int, const std::vector<Listing::Tensor>&) {
  return {};
}
inline Listing::Tensor add(Listing::Tensor, Listing::Gates, int, Listing::Tensor) { return {}; }
inline double variance(Listing::Tensor) { return 0; }
inline void assign(Listing::Vector, double) {}

static_assert(GatedArithmetic<Listing>);

}  // namespace residual::schemes
