#include "train/ranks/slices.h"

#include <algorithm>

namespace residual::train {
namespace {

constexpr size_t kPieces = 4;  // of a bucket, at least: 1 MB

size_t pieces_of(size_t floats) { return (floats + Slices::kPiece - 1) / Slices::kPiece; }

}  // namespace

Slices::Slices(size_t floats, int rank, int size) : floats_(floats), rank_(rank), size_(size) {
  const auto ranks = static_cast<size_t>(size);
  // A multiple of the number of ranks: all slices are equally long but those of the last bucket.
  const size_t step =
      size == 1 ? std::max<size_t>(1, floats) : (kPieces + ranks - 1) / ranks * ranks * kPiece;
  for (size_t begin = 0; begin < floats; begin += step) starts_.push_back(begin);
  starts_.push_back(floats);
  offsets_.push_back(0);
  for (size_t b = 0; b < buckets(); ++b) offsets_.push_back(offsets_.back() + own(b).size());
}

Slices::Range Slices::slice(size_t b, int rank) const {
  const auto [begin, end] = bucket(b);
  const size_t pieces = pieces_of(end - begin);
  const auto cut = [&](int r) {
    const size_t piece = pieces * static_cast<size_t>(r) / static_cast<size_t>(size_);
    return std::min(begin + piece * kPiece, end);
  };
  return {cut(rank), cut(rank + 1)};
}

std::vector<size_t> Slices::piece_ends() const {
  std::vector<size_t> ends;
  size_t count = 0;
  for (int rank = 0; rank < size_; ++rank) {
    for (size_t b = 0; b < buckets(); ++b) count += pieces_of(slice(b, rank).size());
    ends.push_back(count);
  }
  return ends;
}

std::vector<size_t> Slices::pieces_by_rank() const {
  std::vector<size_t> pieces;
  for (int rank = 0; rank < size_; ++rank) {
    for (size_t b = 0; b < buckets(); ++b) {
      const Range range = slice(b, rank);
      for (size_t at = range.begin; at < range.end; at += kPiece) pieces.push_back(at / kPiece);
    }
  }
  return pieces;
}

}  // namespace residual::train
