#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace residual::metrics {

// The least number of insertions, deletions, substitutions of words and shifts of word sequences
// that a greedy search finds to turn a hypothesis into a reference: Tercom's algorithm (Snover et
// al. 2006) with the limits and tie rules of sacreBLEU's implementation. Words are numbers.
int64_t translation_edits(std::span<const uint32_t> hypothesis,
                          std::span<const uint32_t> reference);

// Levenshtein distance between hypotheses of one length and a reference, in a band of 25 words on
// either side of the line from corner to corner (wider if one text is more than 50 times longer).
// Paths that leave the band are not considered.
class BandedDistance {
 public:
  BandedDistance(size_t hypothesis_length, std::span<const uint32_t> reference);

  // Computes and keeps the whole band, which alignment() and changed() use.
  int32_t base(std::span<const uint32_t> hypothesis);

  // Returns the distance of a hypothesis that equals the base outside [first, last).
  int32_t changed(std::span<const uint32_t> hypothesis, size_t first, size_t last);

  // The best way to turn the base into the reference. Ties prefer keeping or substituting a word,
  // then deleting one, then inserting one.
  struct Alignment {
    std::vector<int64_t> position;  // of the hypothesis word at or before each reference word; -1
    std::vector<uint8_t> reference_error, hypothesis_error;  // 1 where a word is not kept
  };
  Alignment alignment(std::span<const uint32_t> hypothesis) const;

 private:
  struct Row {
    size_t begin, end;  // columns of the band: reference prefixes of these lengths
    size_t offset;      // of column `begin` in cost_
  };
  int32_t cost(size_t i, size_t j) const { return cost_[rows_[i].offset + j - rows_[i].begin]; }
  bool has(size_t i, size_t j) const { return j >= rows_[i].begin && j < rows_[i].end; }
  void compute_row(size_t i, uint32_t word, const int32_t* above, int32_t* row) const;
  bool is_shifted_base(size_t i, const int32_t* row) const;

  std::vector<uint32_t> reference_;
  std::vector<Row> rows_;
  std::vector<int32_t> cost_;
  std::vector<int32_t> scratch_[2];
};

}  // namespace residual::metrics
