// The model against the authors' code on fairseq 0.12.2 (tests/fixtures/README.md says how the
// numbers were made).

#include <gtest/gtest.h>

#include <map>

#include "nn/transformer.h"
#include "support/fairseq_fixture.h"
#include "support/tensors.h"

namespace residual::nn {
namespace {

using schemes::Side;
using test::expect_close;
using test::FairseqFixture;

// What each block was given.
class Inputs final : public Watcher {
 public:
  void embedded(Side, const Tensor&) override {}
  void block(Side side, int k, const Tensor& input, const Tensor&) override {
    at_[{side, k}] = input;
  }
  void stack(Side, const Tensor&) override {}

  const Tensor& at(Side side, int k) const { return at_.at({side, k}); }

 private:
  std::map<std::pair<Side, int>, Tensor> at_;
};

class Fairseq : public testing::TestWithParam<const char*> {
 protected:
  Fairseq() : fixture_(GetParam()), parameters_(fixture_.config()), model_(parameters_, {}) {
    fixture_.load(parameters_, "param.");
  }

  FairseqFixture fixture_;
  Parameters parameters_;
  Transformer model_;
};

TEST_P(Fairseq, GivesTheSameEncoderOutputAndLogits) {
  const ModelBatch batch = fixture_.batch();
  expect_close(model_.encode(batch, {}), fixture_.rows("out.encoder", "batch.source"), 1e-5);
  expect_close(model_.logits(batch, {}), fixture_.rows("out.logits", "batch.target"), 1e-5);
}

// The state after layer l is what layer l + 1 begins with; Pre-LN normalises it first.
TEST_P(Fairseq, GivesTheSameStateBeforeEachLayer) {
  Inputs inputs;
  model_.forward(fixture_.batch(), {.watcher = &inputs});
  for (const Side side : {Side::encoder, Side::decoder}) {
    const bool encoder = side == Side::encoder;
    const std::string name = encoder ? "encoder" : "decoder";
    for (int l = 0; l < 2; ++l) {
      SCOPED_TRACE(fmt::format("{} layer {}", name, l));
      const int k = l * (encoder ? 2 : 3);
      Tensor want = fixture_.rows(fmt::format("out.{}_state.{}", name, l),
                                  encoder ? "batch.source" : "batch.target");
      if (fixture_.config().residual.name == "pre-ln") {
        const std::string norm = fmt::format("{}.residual.norm.{}", name, k);
        want = ops::reference::norm(
            want, {parameters_.at(norm + ".weight"), parameters_.at(norm + ".bias"), 1e-5});
      }
      expect_close(inputs.at(side, k), want, 1e-5);
    }
  }
}

TEST_P(Fairseq, GivesTheSameLossAndGradients) {
  const ModelBatch batch = fixture_.batch();
  const Loss loss = model_.loss(batch, {.label_smoothing = 0.1}, {});
  EXPECT_NEAR(loss.sum.item<double>(), fixture_.number("out.loss_sum"), 1e-4);
  EXPECT_NEAR(loss.nll, fixture_.number("out.nll_sum"), 1e-4);
  (loss.sum / loss.predictions).backward();
  const auto want = fixture_.parameters("grad.");
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(parameters_.list()[i].name);
    const Tensor got = parameters_[i].grad();
    EXPECT_LE((got - want[i]).norm().item<double>(), 1e-5 * want[i].norm().item<double>() + 1e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Fairseq,
                         testing::Values("post-ln", "pre-ln", "resi-dual", "resi-dual-eta"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace residual::nn
