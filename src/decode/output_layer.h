#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "decode/team.h"
#include "decode/values.h"
#include "kernels/matrix.h"
#include "kernels/vocabulary.h"

namespace residual::decode {

// The matrix that makes logits of the decoder's output: logits = x W^T + bias. Any number of
// threads may use one.
//
// float32 weights are read in full by every step, and a third or more of them are the output's. Its
// screen is the same matrix in half of the bytes (16-bit integers with a scale per row): it finds
// the likeliest symbols, whose logits are then computed with W itself, and the sum of the others'
// probabilities. A file may hold the screen; if not, or if its rows have changed since, it is made
// while sources are encoded.
class OutputLayer {
 public:
  // `values` are W [out, in], which `owner` keeps alive. Without a screen, W is what slot() is
  // filled with. `listener` hears of products with a screen that the file holds.
  OutputLayer(const Values& values, std::vector<float> bias, int out, int in, Precision precision,
              std::shared_ptr<const void> owner, PackedMatrix::Listener listener);

  const float* bias() const { return bias_.empty() ? nullptr : bias_.data(); }
  bool has_screen() const { return screen_.valid(); }
  const PackedMatrix& screen() const { return screen_.get(); }  // waits for it

  // Where W is put by whoever packs all matrices of a model, or leaves them in their file.
  PackedMatrix& slot(bool is_packed) const { return is_packed ? packed_ : unpacked_; }
  void use_packed() const { is_packed_.store(true, std::memory_order_release); }

  // W as products of whole rows take it.
  const PackedMatrix& matrix() const;
  // What a step is likely to choose its tokens with; null if that is not there yet.
  const PackedMatrix* likely() const;
  // W with the rows of some symbols alone.
  PackedMatrix selected(std::span<const int32_t> symbols) const {
    return (has_screen() ? rows_ : matrix()).selected(symbols);
  }

  // logits [rows, out] of x [rows, in].
  void project(const float* x, int64_t rows, float* logits, Team* team) const;

  // Memory of one thread.
  struct Scratch {
    std::vector<float> wide;  // also an engine's for other products
    std::vector<kernels::RowSummary> screened;
    std::vector<kernels::Scored> best_screened;
  };
  // What is asked of the logits of x, by the screen if there is one. `next`: the matrix of the next
  // product, if known. REQUIRES: each row's k <= kMostBest.
  static constexpr int kMostBest = kernels::kMostBest - 1;
  void summarise(const float* x, std::span<kernels::RowSummary> rows, Scratch& scratch, Team* team,
                 const PackedMatrix* next) const;
  // The same as if the vocabulary were the rows of `matrix` alone.
  static void summarise(const PackedMatrix& matrix, const float* x,
                        std::span<kernels::RowSummary> rows, Scratch& scratch, Team* team,
                        const PackedMatrix* next);

 private:
  // How single rows of W are got. Rows of a large table in a file are read from it with
  // Access::read, and leave no page of theirs in memory; with Access::map they are there faster
  // when they are wanted again.
  enum class Access { read, map };
  // logits of one row x, those that matrix() would give. REQUIRES: has_screen().
  void some_logits(const float* x, std::span<const int32_t> symbols, Access access,
                   float* logits) const;
  void correct(kernels::RowSummary& near, Access access, const float* x,
               kernels::RowSummary& row) const;

  Float32 values_;           // W's, beside a screen
  std::vector<float> bias_;  // empty: there is none
  mutable PackedMatrix unpacked_, packed_;
  mutable std::atomic<bool> is_packed_ = false;
  mutable std::once_flag packing_;
  PackedMatrix rows_;               // W where it is, beside a screen
  PackedMatrix::CopyRow read_row_;  // empty: rows are in no file, or mapped
  std::shared_future<PackedMatrix> screen_;
};

}  // namespace residual::decode
