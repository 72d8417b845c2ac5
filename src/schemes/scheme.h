#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

// A residual scheme decides what each block of a stack sees and how the blocks' outputs become the
// stack's output: it is the function (x, f_1 ... f_N) -> y. It owns the loop over the blocks, so
// that forward() can be read against the equations of its paper. It knows no attention and no
// tensor library: an Arithmetic A gives it
//
//   A::Tensor                        rows [n, D]; copying one copies a handle
//   A::Norm, A::Vector, A::Scalar    learnable: a LayerNorm, a D-vector, a number
//   a.norm(name, eps), a.vector(name, value), a.scalar(name, value)
//                                    make one, or find it among a model's weights
//   add(x, f)       x + f            add(x, c, f)    x + c f, c a number or a Scalar
//   scale(x, c)     c x              scale(w, x)     w_j x_ij, w a Vector
//   norm(x)         LN(x)            norm.add(x, f)  LN(x + f)
//   norm.add_both(x, d, f, eta)      {LN(x + f), d + eta f}: both streams of ResiDual in one pass
//   variance(x), assign(w, c)        of all elements; all elements become c: for calibrate() only
//
// in training (autograd tensors) and in decoding (raw rows), and in tests (doubles).
namespace residual::schemes {

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
  bool opens_layer(int k) const { return k % per_layer_ == 0; }
  bool closes_layer(int k) const { return (k + 1) % per_layer_ == 0; }

 private:
  int count_, per_layer_;
};

// The stack a scheme is made for. The other stack's depth enters DeepNorm's constants.
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

inline std::string numbered(std::string_view name, int k) { return fmt::format("{}.{}", name, k); }

constexpr double kNormEpsilon = 1e-5;  // PyTorch's and so fairseq's

// One LayerNorm per block: norm.0, norm.1, ...
template <class A>
std::vector<typename A::Norm> norms(A& a, int count) {
  std::vector<typename A::Norm> made;
  for (int k = 0; k < count; ++k) made.push_back(a.norm(numbered("norm", k), kNormEpsilon));
  return made;
}

}  // namespace residual::schemes
