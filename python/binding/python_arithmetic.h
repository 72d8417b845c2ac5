#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schemes/scheme.h"

namespace residual::python {

namespace nb = nanobind;

// A schemes::Arithmetic whose rows and numbers are objects of Python, and whose operations are
// methods of a Python object, `operations` (residual.torch has PyTorch's). A scheme on it computes
// with tensors, or is traced, as the objects are.
class PythonArithmetic {
 public:
  struct Object {
    nb::object operations, value;

    template <class... Arguments>
    nb::object call(const char* operation, Arguments&&... arguments) const {
      return operations.attr(operation)(std::forward<Arguments>(arguments)...);
    }
  };
  struct Tensor : Object {};
  struct Gates : Object {};
  struct Vector : Object {};
  struct Scalar : Object {};
  struct Vectors : Object {};
  struct Numbers : Object {};
  struct Norm : Object {
    Tensor operator()(const Tensor& x) const {
      return {{operations, call("norm", value, x.value)}};
    }
    Tensor add(const Tensor& x, const Tensor& f) const {
      return {{operations, call("norm", value, call("add", x.value, f.value))}};
    }
    std::tuple<Tensor, Tensor> add_both(const Tensor& x, const Tensor& d, const Tensor& f,
                                        double eta) const {
      return {add(x, f), Tensor{{operations, call("add_scaled", d.value, eta, f.value)}}};
    }
  };

  explicit PythonArithmetic(nb::object operations) : operations_(std::move(operations)) {}

  Norm norm(const std::string& name, double epsilon) const {
    return {{operations_, operations_.attr("declare_norm")(name, epsilon)}};
  }
  Vector vector(const std::string& name, double value) const {
    return {{operations_, operations_.attr("declare_vectors")(name, nb::none(), value)}};
  }
  Scalar scalar(const std::string& name, double value) const {
    return {{operations_, operations_.attr("declare_numbers")(name, nb::none(), value)}};
  }
  Vectors vectors(const std::string& name, int count, double value) const {
    return {{operations_, operations_.attr("declare_vectors")(name, count, value)}};
  }
  Numbers numbers(const std::string& name, int count, double value) const {
    return {{operations_, operations_.attr("declare_numbers")(name, count, value)}};
  }

 private:
  nb::object operations_;
};

using PyTensor = PythonArithmetic::Tensor;
using PyGates = PythonArithmetic::Gates;

template <class Handle>
std::vector<nb::object> values_of(const std::vector<Handle>& all) {
  std::vector<nb::object> values;
  for (const Handle& each : all) values.push_back(each.value);
  return values;
}

inline PyTensor add(const PyTensor& x, const PyTensor& f) {
  return {{x.operations, x.call("add", x.value, f.value)}};
}
inline PyTensor add(const PyTensor& x, double c, const PyTensor& f) {
  return {{x.operations, x.call("add_scaled", x.value, c, f.value)}};
}
inline PyTensor add(const PyTensor& x, const PythonArithmetic::Scalar& c, const PyTensor& f) {
  return {{x.operations, x.call("add", x.value, x.call("scale", c.value, f.value))}};
}
inline PyTensor scale(const PyTensor& x, double c) {
  return {{x.operations, x.call("scale", c, x.value)}};
}
inline PyTensor scale(const PythonArithmetic::Scalar& c, const PyTensor& x) {
  return {{x.operations, x.call("scale", c.value, x.value)}};
}
inline PyTensor scale(const PythonArithmetic::Vector& w, const PyTensor& x) {
  return {{x.operations, x.call("scale", w.value, x.value)}};
}
inline PyGates dots(const PythonArithmetic::Vectors& w, const PyTensor& x) {
  return {{x.operations, x.call("dots", w.value, x.value)}};
}
inline PyGates constant(const PythonArithmetic::Numbers& b, const std::vector<double>& start) {
  return {{b.operations, b.call("constant", b.value, start)}};
}
inline PyGates add(const PyGates& g, const PyGates& h) {
  return {{g.operations, g.call("add", g.value, h.value)}};
}
inline PyGates scale(const PythonArithmetic::Scalar& s, const PyGates& g) {
  return {{g.operations, g.call("scale", s.value, g.value)}};
}
inline PyGates over_rms(const PyGates& g, const std::vector<PyTensor>& streams, double epsilon) {
  return {{g.operations, g.call("over_rms", g.value, values_of(streams), epsilon)}};
}
inline PyGates columns(const PyGates& g, int first, int count) {
  return {{g.operations, g.call("columns", g.value, first, count)}};
}
inline PyGates join(const std::vector<PyGates>& parts) {
  return {{parts.at(0).operations, parts[0].call("join", values_of(parts))}};
}
inline PyGates tanh(const PyGates& g) { return {{g.operations, g.call("tanh", g.value)}}; }
inline PyGates sigmoid(const PyGates& g, double c) {
  return {{g.operations, g.call("sigmoid", g.value, c)}};
}
inline PyGates softmax(const PyGates& g) { return {{g.operations, g.call("softmax", g.value)}}; }
inline PyGates sinkhorn(const PyGates& g, int iterations) {
  return {{g.operations, g.call("sinkhorn", g.value, iterations)}};
}
inline PyTensor mix(const PyGates& g, int first, int stride, const std::vector<PyTensor>& streams) {
  return {{g.operations, g.call("mix", g.value, first, stride, values_of(streams))}};
}
inline PyTensor add(const PyTensor& x, const PyGates& g, int column, const PyTensor& f) {
  return {{x.operations, x.call("add_gated", x.value, g.value, column, f.value)}};
}
inline double variance(const PyTensor& x) { return nb::cast<double>(x.call("variance", x.value)); }
inline void assign(const PythonArithmetic::Vector& w, double c) { w.call("assign", w.value, c); }

static_assert(schemes::GatedArithmetic<PythonArithmetic>);

}  // namespace residual::python
