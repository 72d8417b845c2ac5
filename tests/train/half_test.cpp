// Appendix G.3: a float16 dual stream overflows unless it is scaled; a float32 one, as in training,
// does not.

#include <gtest/gtest.h>

#include <tuple>

#include "model/config.h"
#include "ops/norm.h"
#include "schemes/resi_dual.h"

namespace residual::train {
namespace {

// Rows in float16; norms work in float32 and round, as on a GPU.
struct HalfRows {
  at::Tensor values;
};

HalfRows scale(const HalfRows& x, double c) { return {x.values * c}; }
HalfRows add(const HalfRows& x, double c, const HalfRows& f) { return {x.values + f.values * c}; }

struct Half {
  using Tensor = HalfRows;
  struct Norm {
    double epsilon;

    HalfRows operator()(const HalfRows& x) const {
      const int64_t width = x.values.size(-1);
      return {at::layer_norm(x.values.to(at::kFloat), {width}, {}, {}, epsilon).to(at::kHalf)};
    }
    std::tuple<HalfRows, HalfRows> add_both(const HalfRows& x, const HalfRows& d, const HalfRows& f,
                                            double eta) const {
      return {(*this)(add(x, 1, f)), add(d, eta, f)};
    }
  };
  Norm norm(const std::string& /*name*/, double epsilon) const { return {epsilon}; }
};

// Every block gives nearly the largest number float16 has, of the same sign in a column; x, which
// is normalised, can still be added to it.
class LoudBlocks : public schemes::Blocks<Half> {
 public:
  using Blocks::Blocks;
  HalfRows operator()(int /*k*/, const HalfRows& x) const override {
    const at::Tensor sign = (at::arange(x.values.size(-1)) % 2 * 2 - 1).to(at::kHalf);
    return {at::ones_like(x.values) * sign * 65000};
  }
};

at::Tensor run(const model::Config& config, schemes::Side side, double eta) {
  Half half;
  const schemes::Stack stack = model::stack(config, side);
  const schemes::ResiDual::On<Half> scheme(half, stack, {.eta = eta});
  const LoudBlocks blocks(stack.blocks(), stack.blocks_per_layer);
  const HalfRows embedded{at::ones({3, 8}, at::kHalf)};
  return scheme.forward(embedded, blocks).values;
}

TEST(HalfDualStream, OverflowsWithoutEtaAndNotWithTheOneByDepth) {
  for (const int64_t layers : {1, 6, 18, 100}) {
    model::Config config;
    config.encoder_layers = config.decoder_layers = layers;
    for (const auto side : {schemes::Side::encoder, schemes::Side::decoder}) {
      EXPECT_FALSE(at::isfinite(run(config, side, 1)).all().item<bool>()) << layers;
      const at::Tensor y = run(config, side, 0);
      EXPECT_TRUE(at::isfinite(y).all().item<bool>()) << layers;
      // Both streams are plus and minus one after their norms.
      EXPECT_TRUE(at::allclose(y.abs().to(at::kFloat), at::full({3, 8}, 2.0F), 0, 0.01));
    }
  }
}

TEST(HalfDualStream, IsFloat32WhereOnlyBranchesAreFloat16) {
  const ops::Affine ln{at::ones({8}), at::zeros({8}), 1e-5};
  const ops::Branch loud{.f = at::full({3, 8}, 65504, at::kHalf)};
  at::Tensor x = at::ones({3, 8}), d = x;
  for (int k = 0; k < 4; ++k) std::tie(x, d) = ops::dual_add_norm(x, d, loud, 1, ln);
  EXPECT_EQ(x.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(d, at::full({3, 8}, 262017.0F)));
}

}  // namespace
}  // namespace residual::train
