#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// A residual scheme decides what each block of a stack sees and how the blocks' outputs become the
// stack's output: it is the function (x, f_1 ... f_N) -> y. It owns the loop over the blocks, so
// that forward() can be read against the equations of its paper. It knows no attention and no
// tensor library: an Arithmetic gives it rows and what can be done with them, in training (autograd
// tensors), in decoding (raw rows) and in tests (doubles).
namespace residual::schemes {

// What a scheme may ask for.
template <class A>
concept Arithmetic =
    // Rows [n, D]; copying one copies a handle.
    std::copyable<typename A::Tensor> &&
    // Learnable: a LayerNorm, a D-vector, a number. Making one declares it, or finds it among a
    // model's weights.
    requires(A a, const std::string& name, double value) {
  { a.norm(name, value) } -> std::same_as<typename A::Norm>;  // value: epsilon
  { a.vector(name, value) } -> std::same_as<typename A::Vector>;
  { a.scalar(name, value) } -> std::same_as<typename A::Scalar>;
} && requires(const typename A::Tensor& x, const typename A::Scalar& s, const typename A::Vector& w,
              double c) {
  { add(x, x) } -> std::same_as<typename A::Tensor>;     // x + f
  { add(x, c, x) } -> std::same_as<typename A::Tensor>;  // x + c f
  { add(x, s, x) } -> std::same_as<typename A::Tensor>;
  { scale(x, c) } -> std::same_as<typename A::Tensor>;  // c x
  { scale(s, x) } -> std::same_as<typename A::Tensor>;
  { scale(w, x) } -> std::same_as<typename A::Tensor>;  // w_j x_ij
  // For calibrate() only: of all elements; all elements become c.
  { variance(x) } -> std::same_as<double>;
  { assign(w, c) } -> std::same_as<void>;
} && requires(const typename A::Norm& norm, const typename A::Tensor& x, double eta) {
  { norm(x) } -> std::same_as<typename A::Tensor>;         // LN(x)
  { norm.add(x, x) } -> std::same_as<typename A::Tensor>;  // LN(x + f)
  // {LN(x + f), d + eta f}: two streams that one block's output joins, in one pass.
  {
    norm.add_both(x, x, x, eta)
    } -> std::same_as<std::tuple<typename A::Tensor, typename A::Tensor>>;
};

// What schemes ask for whose weights differ from row to row. Gates are numbers [n, m] for rows
// [n, D], or [1, m] where all rows have the same; Vectors are m learnable vectors of D elements,
// and Numbers m learnable numbers. Every function treats each row by itself.
template <class A>
concept GatedArithmetic = Arithmetic<A> && std::copyable<typename A::Gates> &&
    requires(A a, const std::string& name, int count, double value) {
  { a.vectors(name, count, value) } -> std::same_as<typename A::Vectors>;
  { a.numbers(name, count, value) } -> std::same_as<typename A::Numbers>;
} &&
    requires(const typename A::Gates& g, const typename A::Vectors& w, const typename A::Numbers& b,
             const typename A::Scalar& s, const typename A::Tensor& x,
             const std::vector<typename A::Tensor>& streams, const std::vector<double>& start,
             const std::vector<typename A::Gates>& many, double c, int i) {
  { dots(w, x) } -> std::same_as<typename A::Gates>;          // w_j . x for each row
  { constant(b, start) } -> std::same_as<typename A::Gates>;  // start + b, for all rows
  { add(g, g) } -> std::same_as<typename A::Gates>;
  { scale(s, g) } -> std::same_as<typename A::Gates>;
  // g / sqrt(mean square of all elements of the row in all streams + c)
  { over_rms(g, streams, c) } -> std::same_as<typename A::Gates>;
  { columns(g, i, i) } -> std::same_as<typename A::Gates>;  // the first, and how many
  { join(many) } -> std::same_as<typename A::Gates>;        // side by side
  { tanh(g) } -> std::same_as<typename A::Gates>;
  { sigmoid(g, c) } -> std::same_as<typename A::Gates>;  // c / (1 + e^-g)
  { softmax(g) } -> std::same_as<typename A::Gates>;     // over the columns
  // Sinkhorn-Knopp on e^g as a square matrix, row by row: i times columns, then rows, are divided
  // by their sums.
  { sinkhorn(g, i) } -> std::same_as<typename A::Gates>;
  // The sum over streams t of g_{first + t stride} x_t.
  { mix(g, i, i, streams) } -> std::same_as<typename A::Tensor>;
  { add(x, g, i, x) } -> std::same_as<typename A::Tensor>;  // x + g_i f
};

enum class Side { encoder, decoder };

// f_1 ... f_N, bottom to top: self-attention, cross-attention or feed-forward with its dropout,
// bound to masks, memory and caches. C++ counts from 0: f(0, x) is the papers' f_1(x).
// What watches or alters blocks (probes, caches) wraps one Blocks in another.
template <class A>
class Blocks {
 public:
  using Tensor = typename A::Tensor;

  Blocks(int count, int per_layer) : count_(count), per_layer_(per_layer) {}
  virtual ~Blocks() = default;

  virtual Tensor operator()(int k, const Tensor& x) const = 0;

  int size() const { return count_; }
  int per_layer() const { return per_layer_; }
  int layer(int k) const { return k / per_layer_; }
  bool opens_layer(int k) const { return k % per_layer_ == 0; }
  bool closes_layer(int k) const { return (k + 1) % per_layer_ == 0; }

 private:
  int count_, per_layer_;
};

// The stack a scheme is made for. The other stack's depth enters the constants of some schemes.
struct Stack {
  Side side = Side::encoder;
  int layers = 6;
  int other_layers = 6;  // 0: there is no other stack
  int blocks_per_layer = 2;

  int blocks() const { return layers * blocks_per_layer; }
};

template <class A>
class Scheme {
 public:
  using Tensor = typename A::Tensor;

  virtual ~Scheme() = default;

  // The whole stack on the embedded input x.
  virtual Tensor forward(Tensor x, const Blocks<A>& f) const = 0;

  // Sets parameters that depend on data from one batch, before training; if it has any.
  virtual bool calibrates() const { return false; }
  virtual void calibrate(const Tensor& /*x*/, const Blocks<A>& /*f*/) {}
};

inline std::string numbered(std::string_view name, int64_t k) {
  return fmt::format("{}.{}", name, k);
}

constexpr double kNormEpsilon = 1e-5;  // PyTorch's and so fairseq's

// One LayerNorm per block: norm.0, norm.1, ...
template <class A>
std::vector<typename A::Norm> norms(A& a, int count, std::string_view name = "norm") {
  std::vector<typename A::Norm> made;
  for (int k = 0; k < count; ++k) made.push_back(a.norm(numbered(name, k), kNormEpsilon));
  return made;
}

}  // namespace residual::schemes
