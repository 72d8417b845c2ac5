#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "drawing/graph.h"
#include "schemes/scheme.h"

namespace residual::drawing {

// An arithmetic without numbers: whatever a scheme computes becomes a node of a graph.
class Recording {
 public:
  struct Tensor {
    std::shared_ptr<Graph> graph;
    int node = 0;
    double factor = 1;
    std::string learnt = {};  // "w": a learnt factor too

    Edge edge() const {
      return {node, (factor == 1 ? "" : fmt::format("{:.3g}", factor)) + learnt};
    }
  };
  struct Vector {};
  struct Scalar {};
  struct Vectors {};
  struct Numbers {};
  struct Gates {
    std::string form = "w";  // what the weights of a mixture come from
  };
  struct Norm {
    Tensor operator()(const Tensor& x) const { return make(Kind::norm, "LN", {x}); }
    Tensor add(const Tensor& x, const Tensor& f) const {
      return (*this)(make(Kind::sum, "+", {x, f}));
    }
    std::tuple<Tensor, Tensor> add_both(const Tensor& x, const Tensor& d, const Tensor& f,
                                        double eta) const {
      Tensor scaled = f;
      scaled.factor *= eta;
      return {add(x, f), make(Kind::sum, "+", {d, scaled})};
    }
  };

  Norm norm(const std::string& /*name*/, double /*epsilon*/) { return {}; }
  Vector vector(const std::string& /*name*/, double /*value*/) { return {}; }
  Scalar scalar(const std::string& /*name*/, double /*value*/) { return {}; }
  Vectors vectors(const std::string& /*name*/, int /*count*/, double /*value*/) { return {}; }
  Numbers numbers(const std::string& /*name*/, int /*count*/, double /*value*/) { return {}; }

  static Tensor make(Kind kind, std::string label, const std::vector<Tensor>& operands) {
    Node node{.kind = kind, .label = std::move(label)};
    for (const Tensor& x : operands) node.in.push_back(x.edge());
    const auto& graph = operands.at(0).graph;
    graph->push_back(std::move(node));
    return {graph, static_cast<int>(graph->size()) - 1};
  }
};

using Tensor = Recording::Tensor;
using Gates = Recording::Gates;

inline Tensor scale(Tensor x, double c) {
  x.factor *= c;
  return x;
}
inline Tensor learnt(Tensor x, const std::string& weight) {
  x.learnt = weight;
  return x;
}
inline Tensor scale(Recording::Scalar, const Tensor& x) { return learnt(x, "w"); }
inline Tensor scale(Recording::Vector, const Tensor& x) { return learnt(x, "w"); }
inline Tensor add(const Tensor& x, const Tensor& f) {
  return Recording::make(Kind::sum, "+", {x, f});
}
inline Tensor add(const Tensor& x, double c, const Tensor& f) { return add(x, scale(f, c)); }
inline Tensor add(const Tensor& x, Recording::Scalar s, const Tensor& f) {
  return add(x, scale(s, f));
}
inline Tensor add(const Tensor& x, const Gates& g, int, const Tensor& f) {
  return add(x, learnt(f, g.form));
}
inline Tensor mix(const Gates& g, int, int, const std::vector<Tensor>& streams) {
  return Recording::make(Kind::mix, g.form, streams);
}
inline Gates dots(Recording::Vectors, const Tensor&) { return {}; }
inline Gates constant(Recording::Numbers, const std::vector<double>&) { return {}; }
inline Gates add(const Gates& g, const Gates&) { return g; }
inline Gates scale(Recording::Scalar, const Gates& g) { return g; }
inline Gates over_rms(const Gates& g, const std::vector<Tensor>&, double) { return g; }
inline Gates columns(const Gates& g, int, int) { return g; }
inline Gates join(const std::vector<Gates>& many) { return many.at(0); }
inline Gates tanh(const Gates&) { return {}; }
inline Gates sigmoid(const Gates&, double c) { return {c == 1 ? "σ" : fmt::format("{:g}σ", c)}; }
inline Gates softmax(const Gates&) { return {"softmax"}; }
inline Gates sinkhorn(const Gates&, int) { return {"sinkhorn"}; }
inline double variance(const Tensor&) { return 0; }
inline void assign(Recording::Vector, double) {}

static_assert(schemes::GatedArithmetic<Recording>);

}  // namespace residual::drawing
