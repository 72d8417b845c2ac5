#include "ops/embedding.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

// `rows` symbols of 5 and positions of 7, both with repetitions.
Pair embed_with(int64_t rows, const Tensor& table, const Dropout& dropout) {
  const Tensor ids = at::arange(rows) * 3 % 5, positions = at::arange(rows) * 5 % 7;
  return {
      [=](const Tensors& in) -> Tensors { return {embed(ids, positions, in[0], table, dropout)}; },
      [=](const Tensors& in) -> Tensors {
        return {reference::embed(ids, positions, in[0], table.to(at::kDouble), dropout)};
      }};
}

TEST(Embed, AgreesWithItsDefinition) {
  for (const Dropout& dropout : {kOff, kOn}) {
    for (const int64_t rows : {0, 1, 3, 64}) {
      for (const int64_t width : kWidths) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << width << ", " << dropout.rate);
        const Tensor table = normal({7, width}, 2);
        expect_parity(embed_with(rows, table, dropout), {normal({5, width}, 1)});
      }
    }
  }
}

TEST(Embed, TakesAnotherFactorAndLearnedPositions) {
  const Tensor ids = at::arange(9) * 3 % 5, positions = at::arange(9) * 5 % 7;
  expect_parity({[=](const Tensors& in) -> Tensors {
                   return {embed(ids, positions, in[0], in[1], kOn, 1.5)};
                 },
                 [=](const Tensors& in) -> Tensors {
                   const Tensor sum =
                       1.5 * in[0].index_select(0, ids) + in[1].index_select(0, positions);
                   return {reference::dropout(sum, kOn)};
                 }},
                {normal({5, 17}, 1), normal({7, 17}, 2)});
  const Tensor table = normal({7, 17}, 2);
  expect_parity({[=](const Tensors& in) -> Tensors {
                   return {embed(ids, positions, in[0], table, kOff, 1.5)};
                 },
                 [=](const Tensors& in) -> Tensors {
                   return {1.5 * in[0].index_select(0, ids) +
                           table.to(at::kDouble).index_select(0, positions)};
                 }},
                {normal({5, 17}, 1)});
}

TEST(Embed, TakesStridedIdsAndPositions) {
  const Tensor embedding = normal({5, 9}, 1), table = normal({7, 9}, 2);
  const Tensor ids = at::arange(5), positions = at::arange(5);
  const Tensor want = embed(ids, positions, embedding, table, kOn);
  EXPECT_TRUE(
      at::equal(embed(strided(ids), strided(positions), embedding, strided(table), kOn), want));
}

TEST(Embed, SpreadsNonfiniteNumbersAsItsDefinition) {
  expect_same_nonfinite(embed_with(5, normal({7, 17}, 2), kOn), {normal({5, 17}, 1)});
}

}  // namespace
}  // namespace residual::ops
