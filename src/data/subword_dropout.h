#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/bpe.h"
#include "text/vocabulary.h"

namespace residual::data {

// BPE-dropout (Provilkov et al. 2020) for sentences that are ids already: their words, put together
// from their pieces, are segmented anew with merges left out at random. For one thread.
class SubwordDropout {
 public:
  // `bpe` has a dropout.
  SubwordDropout(std::shared_ptr<const text::Bpe> bpe,
                 std::shared_ptr<const text::Vocabulary> vocabulary);

  // Segments the sentence ids[begin] ... anew, whose last id is EOS and stays. What comes out is a
  // function of `draw`, the seed and the sentence. A word stays as it is if the vocabulary lacks
  // one of its new pieces, and so does a sentence that would have more than `longest` ids.
  void apply(uint64_t draw, size_t begin, int64_t longest, std::vector<int32_t>& ids);

 private:
  void append_word(std::span<const int32_t> word, uint64_t draw);

  text::BpeTransform segment_;
  std::shared_ptr<const text::Vocabulary> vocabulary_;
  std::string separator_;
  std::string word_, pieces_;
  std::vector<int32_t> made_;
};

}  // namespace residual::data
