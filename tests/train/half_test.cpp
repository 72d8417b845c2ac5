// Appendix G.3: a float16 dual stream overflows unless it is scaled.

#include <gtest/gtest.h>

#include <tuple>

#include "ops/tensor.h"
#include "schemes/resi_dual.h"
#include "train/config.h"

namespace residual::train {

// Rows in float16; norms work in float32 and round, as on a GPU.
struct Half {
  using Tensor = at::Tensor;
  struct Vector {};
  struct Scalar {};
  struct Norm {
    double epsilon;

    Tensor operator()(const Tensor& x) const {
      return at::layer_norm(x.to(at::kFloat), {x.size(-1)}, {}, {}, epsilon).to(at::kHalf);
    }
    std::tuple<Tensor, Tensor> add_both(const Tensor& x, const Tensor& d, const Tensor& f,
                                        double eta) const {
      return {(*this)(x + f), d + f * eta};
    }
  };
  Norm norm(const std::string&, double epsilon) const { return {epsilon}; }

  friend Tensor scale(const Tensor& x, double c) { return x * c; }
};

Half::Tensor scale(const at::Tensor& x, double c) { return x * c; }
Half::Tensor add(const at::Tensor& x, double c, const at::Tensor& f) { return x + f * c; }

namespace {

// Every block gives the largest numbers float16 has, always of the same sign in a column.
class LoudBlocks : public schemes::Blocks<Half> {
 public:
  using Blocks::Blocks;
  at::Tensor operator()(int, const at::Tensor& x) const override {
    return at::where(at::arange(x.size(-1)) % 2 == 0, at::full_like(x, 65504),
                     at::full_like(x, -65504));
  }
};

at::Tensor run(const model::Config& config, schemes::Side side, double eta) {
  Half half;
  const schemes::Stack stack = model::stack(config, side);
  schemes::Options options;
  options.eta = eta;
  const schemes::ResiDual<Half> scheme(half, stack, options);
  const LoudBlocks blocks(stack.blocks(), stack.blocks_per_layer);
  const at::Tensor x = blocks(0, at::zeros({3, 8}, at::kHalf));
  return scheme.forward(x, blocks);
}

TEST(HalfDualStream, OverflowsWithoutEtaAndNotWithTheAutomaticOne) {
  for (const int64_t layers : {1, 6, 18, 100}) {
    model::Config config;
    config.encoder_layers = config.decoder_layers = layers;
    for (const auto side : {schemes::Side::encoder, schemes::Side::decoder}) {
      EXPECT_FALSE(at::isfinite(run(config, side, 1)).all().item<bool>()) << layers;
      const at::Tensor y = run(config, side, safe_eta(config));
      EXPECT_TRUE(at::isfinite(y).all().item<bool>()) << layers;
      // Both streams are plus and minus one after their norms.
      EXPECT_TRUE(at::allclose(y.abs().to(at::kFloat), at::full({3, 8}, 2.0F), 0, 0.01));
    }
  }
}

}  // namespace
}  // namespace residual::train
