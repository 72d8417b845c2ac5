#include "ops/dropout.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

TEST(ReferenceDropout, NumbersElementsInRowMajorOrderWhateverTheStrides) {
  const Tensor x = normal({5, 9}, 1);
  Tensor factors = at::empty({5, 9}, at::kFloat);
  kernels::dropout_factors(kOn, 0, 45, factors.data_ptr<float>());
  EXPECT_TRUE(at::equal(reference::dropout(x, kOn), x * factors));
  EXPECT_TRUE(at::equal(reference::dropout(strided(x), kOn), x * factors));
  EXPECT_TRUE(at::equal(reference::dropout(x, kOff), x));
}

// Elements are numbered as if nothing were padded; the padding is dropped.
TEST(ReferenceDropout, MaskOfASentenceDependsOnItsOwnLengthsOnly) {
  const Segments queries = segments({2, 3}), keys = segments({4, 1});
  constexpr int64_t kHeads = 2;
  const Tensor mask =
      reference::dropout_probabilities(at::ones({2, kHeads, 3, 4}), queries, keys, kOn);
  std::vector<float> factors(kHeads * (2 * 4 + 3 * 1));
  kernels::dropout_factors(kOn, 0, static_cast<int64_t>(factors.size()), factors.data());
  Tensor want = at::zeros(mask.sizes());
  size_t element = 0;
  for (int64_t s = 0; s < 2; ++s) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < queries.length(s); ++i) {
        for (int64_t j = 0; j < keys.length(s); ++j) want[s][h][i][j] = factors[element++];
      }
    }
  }
  EXPECT_TRUE(at::equal(mask, want));
}

}  // namespace
}  // namespace residual::ops
