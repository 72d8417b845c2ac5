#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/bpe.h"
#include "text/vocabulary.h"

namespace residual::data {

// BPE-dropout (Provilkov et al. 2020) for sentences of ids: it joins the pieces to words and
// segments these again, skipping merges at random. For one thread.
class SubwordDropout {
 public:
  // REQUIRES: `bpe` has dropout.
  SubwordDropout(std::shared_ptr<const text::Bpe> bpe,
                 std::shared_ptr<const text::Vocabulary> vocabulary);

  // Segments the sentence that starts at ids[begin] again; its last id, EOS, stays. The result is a
  // function of `draw`, the seed and the sentence. A word stays unchanged if the vocabulary lacks
  // one of its new pieces, and a sentence stays unchanged if it would exceed `longest` ids.
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
