#include "ops/loss.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

Tensor targets(int64_t rows, int64_t symbols) { return at::arange(rows) * 7 % symbols; }

// Takes y [rows, d] and E [symbols, d].
Pair output_loss_with(const Tensor& target, const LossSpec& spec) {
  return {[=](const Tensors& in) -> Tensors {
            const LossSums sums = output_loss(in[0], in[1], target, spec);
            return {sums.loss, sums.nll};
          },
          [=](const Tensors& in) -> Tensors {
            const LossSums sums = reference::output_loss(in[0], in[1], target, spec);
            return {sums.loss, sums.nll};
          }};
}

const LossSpec kSpecs[] = {
    {0.1, LabelSmoothing::others}, {0.1, LabelSmoothing::all}, {0, LabelSmoothing::others}};

void expect_parity_of(int64_t rows, int64_t symbols, int64_t width) {
  for (const LossSpec& spec : kSpecs) {
    SCOPED_TRACE(testing::Message() << rows << " rows of " << width << ", " << symbols
                                    << " symbols, smoothing " << spec.label_smoothing);
    expect_parity(output_loss_with(targets(rows, symbols), spec),
                  {normal({rows, width}, 1), normal({symbols, width}, 2)});
  }
}

TEST(OutputLoss, AgreesWithItsDefinition) {
  for (const int64_t rows : kRows) {
    for (const int64_t symbols : {2, 7, 8, 9, 16, 17, 33, 256, 1023}) {
      expect_parity_of(rows, symbols, 9);
    }
  }
  for (const int64_t width : kWidths) expect_parity_of(3, 17, width);
}

TEST(OutputLoss, AgreesWithItsDefinitionWithoutRowsAndBeyondAChunk) {
  for (const int64_t rows : {0, 255, 256, 257, 513}) expect_parity_of(rows, 33, 8);
}

// The logits of few of so many symbols exist at once: chunks of 104 rows.
TEST(OutputLoss, AgreesWithItsDefinitionForAWideVocabulary) {
  expect_parity(output_loss_with(targets(105, 40000), kSpecs[0]),
                {normal({105, 2}, 1), normal({40000, 2}, 2)});
}

TEST(OutputLoss, IsTheSameWithoutGradient) {
  const Tensor y = normal({257, 8}, 1), e = normal({33, 8}, 2).requires_grad_();
  const LossSums with = output_loss(y, e, targets(257, 33), {});
  EXPECT_TRUE(with.loss.requires_grad());
  const at::NoGradGuard no_grad;
  const LossSums without = output_loss(y, e, targets(257, 33), {});
  EXPECT_FALSE(without.loss.requires_grad());
  EXPECT_TRUE(at::equal(with.loss, without.loss));
  EXPECT_TRUE(at::equal(with.nll, without.nll));
}

// fairseq's two forms, counted out: the smoothed distribution sums to 1.
TEST(OutputLoss, SmoothingSpreadsItsMassOverTheOthersOrAll) {
  for (const LossSpec& spec : kSpecs) {
    const auto [gold, each] = smoothed_targets(spec, 11);
    EXPECT_NEAR(gold + 11 * each, 1, 1e-15);
  }
  const auto others = smoothed_targets({0.1, LabelSmoothing::others}, 11);
  EXPECT_NEAR(others.gold + others.each, 0.9, 1e-15);
  const auto all = smoothed_targets({0.1, LabelSmoothing::all}, 11);
  EXPECT_NEAR(all.gold, 0.9, 1e-15);
}

TEST(OutputLoss, SpreadsNonfiniteNumbersAsItsDefinition) {
  for (const LossSpec& spec : kSpecs) {
    expect_same_nonfinite(output_loss_with(targets(3, 33), spec),
                          {normal({3, 8}, 1), normal({33, 8}, 2)});
  }
}

}  // namespace
}  // namespace residual::ops
