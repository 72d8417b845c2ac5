#include "train/ranks/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual::train {
namespace {

constexpr size_t kPiece = Slices::kPiece;

TEST(Slices, CoverTheBufferOnceAtWholePieces) {
  for (const int size : {1, 2, 3, 7, 100}) {
    for (const size_t floats : {size_t{1}, kPiece, kPiece + 1, 100 * kPiece - 1}) {
      SCOPED_TRACE(testing::Message() << size << " ranks, " << floats << " floats");
      const Slices slices(floats, 0, size);
      size_t at = 0, own = 0;
      for (size_t b = 0; b < slices.buckets(); ++b) {
        for (int rank = 0; rank < size; ++rank) {
          const Slices::Range range = slices.slice(b, rank);
          if (range.size() == 0) continue;
          EXPECT_EQ(range.begin, at);
          EXPECT_EQ(range.begin % kPiece, 0);
          at = range.end;
          if (rank == 0) own += range.size();
        }
      }
      EXPECT_EQ(at, floats);
      EXPECT_EQ(slices.own_floats(), own);
    }
  }
}

TEST(Slices, KeepAllRanksBusyInEveryBucketButTheLast) {
  const Slices slices(1000 * kPiece, 0, 3);
  for (size_t b = 0; b + 1 < slices.buckets(); ++b) {
    for (int rank = 1; rank < 3; ++rank) {
      EXPECT_EQ(slices.slice(b, rank).size(), slices.slice(b, 0).size());
    }
  }
}

TEST(Slices, ListEveryPieceOnceByItsOwner) {
  const Slices slices(50 * kPiece + 3, 0, 4);
  auto pieces = slices.pieces_by_rank();
  EXPECT_EQ(slices.piece_ends().back(), pieces.size());
  std::ranges::sort(pieces);
  ASSERT_EQ(pieces.size(), 51);
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(pieces[i], i);
}

}  // namespace
}  // namespace residual::train
