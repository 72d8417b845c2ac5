#pragma once

#include <cstddef>
#include <vector>

namespace residual::train {

// Which rank owns which part of the flat buffers of gradients and parameters. The buffers are cut
// into buckets, and each bucket into a slice per rank, so that every bucket keeps all ranks busy. A
// boundary is a multiple of kPiece floats: the norm of a gradient adds pieces of that size, and its
// bits must not depend on the number of ranks.
class Slices {
 public:
  static constexpr size_t kPiece = 1 << 16;  // floats

  struct Range {
    size_t begin, end;
    size_t size() const { return end - begin; }
  };

  // A single rank owns the whole buffer, in one bucket.
  explicit Slices(size_t floats, int rank = 0, int size = 1);

  int rank() const { return rank_; }
  size_t floats() const { return floats_; }
  size_t buckets() const { return starts_.size() - 1; }
  Range bucket(size_t b) const { return {starts_[b], starts_[b + 1]}; }
  Range slice(size_t b, int rank) const;
  Range own(size_t b) const { return slice(b, rank_); }

  // This rank's slices one after another: their number of floats, and the place of each.
  size_t own_floats() const { return offsets_.back(); }
  size_t offset(size_t b) const { return offsets_[b]; }

  // The number of pieces that ranks 0 to `rank` own, and the buffer's pieces in the order of the
  // ranks that own them.
  std::vector<size_t> piece_ends() const;
  std::vector<size_t> pieces_by_rank() const;

 private:
  size_t floats_;
  int rank_, size_;
  std::vector<size_t> starts_;   // of the buckets, and the end
  std::vector<size_t> offsets_;  // of this rank's slices, and the end
};

}  // namespace residual::train
