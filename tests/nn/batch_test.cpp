#include "nn/batch.h"

#include <gtest/gtest.h>

#include "support/torch_models.h"

namespace residual::nn {
namespace {

std::vector<int64_t> values(const Tensor& t) {
  const auto* data = t.data_ptr<int64_t>();
  return {data, data + t.numel()};
}

using Ids = std::vector<int64_t>;

TEST(TranslationBatch, FeedsTheDecoderTheTargetOnePlaceLater) {
  const std::vector<int32_t> source = {7, 2, 8, 9, 2}, source_at = {0, 2, 5};
  const std::vector<int32_t> target = {4, 5, 2, 2}, target_at = {0, 3, 4};
  const ModelBatch batch = translation_batch({source, source_at}, {target, target_at});
  EXPECT_EQ(values(batch.input), (Ids{2, 4, 5, 2}));
  EXPECT_EQ(values(batch.target), (Ids{4, 5, 2, 2}));
  EXPECT_EQ(values(batch.source_positions), (Ids{0, 1, 0, 1, 2}));
  EXPECT_EQ(values(batch.input_positions), (Ids{0, 1, 2, 0}));
  EXPECT_EQ(batch.predictions(), 4);
}

TEST(MaskedBatch, HidesTheShareInBertsProportions) {
  const test::Text text = test::random_text(std::vector<int>(400, 50), 1000, 3);
  const ModelBatch batch = masked_batch(text.sentences(), 1000, 0.15, Random(1));
  const auto n = static_cast<double>(text.ids.size());
  const Ids rows = values(batch.selected), seen = values(batch.source);
  EXPECT_NEAR(static_cast<double>(rows.size()) / n, 0.15, 0.01);
  int hidden = 0, kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t symbol = seen[rows[i]];
    hidden += symbol == text::Vocabulary::kBos;
    kept += symbol == text.ids[rows[i]];
    EXPECT_EQ(values(batch.target)[i], text.ids[rows[i]]);
    if (i > 200) break;
  }
  EXPECT_NEAR(hidden / 202.0, 0.8, 0.1);
  EXPECT_NEAR(kept / 202.0, 0.1, 0.07);
}

TEST(MaskedBatch, HidesAtLeastOneTokenAndTheSameOnesAgain) {
  const test::Text text = test::random_text({2}, 10, 3);
  const ModelBatch a = masked_batch(text.sentences(), 10, 1e-9, Random(1));
  const ModelBatch b = masked_batch(text.sentences(), 10, 1e-9, Random(1));
  EXPECT_EQ(a.predictions(), 1);
  EXPECT_EQ(values(a.source), values(b.source));
}

}  // namespace
}  // namespace residual::nn
