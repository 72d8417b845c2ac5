#include "ops/attention.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

// Takes [rows, 3 d].
Pair self_attention_with(const AttentionSpec& spec) {
  return {[spec](const Tensors& in) -> Tensors { return {self_attention(in[0], spec)}; },
          [spec](const Tensors& in) -> Tensors {
            const auto parts = in[0].chunk(3, 1);
            return {reference::attention(parts[0], parts[1], parts[2], spec)};
          }};
}

// Takes [query rows, d] and [key rows, 2 d].
Pair cross_attention_with(const AttentionSpec& spec) {
  return {[spec](const Tensors& in) -> Tensors { return {cross_attention(in[0], in[1], spec)}; },
          [spec](const Tensors& in) -> Tensors {
            const auto parts = in[1].chunk(2, 1);
            return {reference::attention(in[0], parts[0], parts[1], spec)};
          }};
}

struct Shape {
  int64_t heads, head_width;
  std::vector<int64_t> queries, keys;
};

void expect_parity_of(const Shape& s, double size = 1, double tolerance = kTolerance) {
  const int64_t d = s.heads * s.head_width;
  for (const Visibility visibility : {Visibility::all, Visibility::causal}) {
    for (const Dropout& dropout : {kOff, kOn}) {
      SCOPED_TRACE(testing::Message()
                   << s.heads << " heads of " << s.head_width << ", causal "
                   << (visibility == Visibility::causal) << ", dropout " << dropout.rate);
      AttentionSpec spec{s.heads, visibility, segments(s.queries), segments(s.keys), dropout};
      const Tensor q = size * normal({spec.queries.rows(), d}, 2);
      expect_parity(cross_attention_with(spec), {q, normal({spec.keys.rows(), 2 * d}, 3)},
                    tolerance);
      spec.queries = spec.keys;
      expect_parity(self_attention_with(spec), {size * normal({spec.keys.rows(), 3 * d}, 1)},
                    tolerance);
    }
  }
}

TEST(Attention, AgreesWithItsDefinitionForEveryHeadWidth) {
  for (const int64_t head_width : {1, 3, 8, 15, 16, 17, 32, 64}) {
    for (const int64_t heads : {1, 3}) {
      expect_parity_of({heads, head_width, {1, 5, 2}, {4, 1, 3}});
    }
  }
}

// The numbers of keys are padded to vectors and the queries go by fours.
TEST(Attention, AgreesWithItsDefinitionForEveryLength) {
  for (const int64_t length : {1, 2, 7, 8, 9, 15, 16, 17, 33, 65}) {
    SCOPED_TRACE(length);
    expect_parity_of({2, 4, {3, length}, {length, 2}});
  }
}

TEST(Attention, AgreesWithItsDefinitionWithoutRows) {
  expect_parity_of({2, 4, {}, {}});
  expect_parity_of({2, 4, {0}, {3}});
}

// Probabilities near 0 and 1. The gradient makes them again from the logarithm of their sum, which
// for scores of 200 is 1e-5 off.
TEST(Attention, AgreesWithItsDefinitionForLargeScores) {
  expect_parity_of({2, 8, {5, 17}, {17, 5}}, 5, 5e-5);
}

// What a sentence gives does not depend, to the last bit, on the other sentences.
TEST(Attention, TreatsASentenceAloneAsAmongOthers) {
  const Tensor qkv = normal({12, 3 * 6}, 1);
  AttentionSpec spec{.heads = 2, .visibility = Visibility::causal, .queries = segments({3, 7, 2})};
  spec.keys = spec.queries;
  const Tensor among = self_attention(qkv, spec).narrow(0, 3, 7);
  spec.queries = spec.keys = segments({7});
  EXPECT_TRUE(at::equal(among, self_attention(qkv.narrow(0, 3, 7), spec)));
}

// Of the last sentence, the last row: the definition pads with rows of the first.
TEST(Attention, SpreadsNonfiniteNumbersAsItsDefinition) {
  for (const Dropout& dropout : {kOff, kOn}) {
    const AttentionSpec spec{2, Visibility::all, segments({2, 3}), segments({4, 5}), dropout};
    expect_same_nonfinite(cross_attention_with(spec), {normal({5, 6}, 1), normal({9, 12}, 2)});
  }
}

}  // namespace
}  // namespace residual::ops
