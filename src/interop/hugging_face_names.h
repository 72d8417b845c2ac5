#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/config.h"

// What Hugging Face's library calls the parameters of its models, for import and export.
namespace residual::interop {

enum class Family { llama, gpt2, bert };

// A tensor of the library. Matrices are [out, in], or [in, out] if they are `transposed`.
struct TheirTensor {
  std::string name;
  std::vector<int64_t> shape;  // as ours would be: [out, in] or [out]
  bool transposed = false;
  bool optional = false;  // 0 if the file has none
};

// One of our parameters, which is made of theirs, one below the other.
struct NamedParts {
  std::string ours;
  std::vector<TheirTensor> theirs;
};

// All parameters except embeddings, learned positions and the output.
std::vector<NamedParts> named_parts(Family family, const model::Config& config);

// The beginning of the names of what is not the output: "model.", "transformer.", "bert.".
const char* prefix_of(Family family);

// Rows of a matrix (or vector, of width 1) from their numbers to ours, and back. `special` are
// model::Config::special_numbers, `count` is the size of their vocabulary.
class Renumbering {
 public:
  Renumbering(std::vector<int64_t> special, int64_t count);

  // Our number of rows: those of all their symbols, and of special ones that they do not have or
  // that are another's copy.
  int64_t ours() const { return static_cast<int64_t>(theirs_.size()); }
  int64_t count() const { return count_; }
  // Their number of one of our symbols; -1: none.
  int64_t theirs(int64_t ours) const { return theirs_[static_cast<size_t>(ours)]; }
  // Whether one of our symbols is no symbol of its own: it must never be given.
  bool is_extra(int64_t ours) const { return extra_[static_cast<size_t>(ours)]; }

  std::vector<float> to_ours(std::span<const float> theirs, int64_t width) const;
  std::vector<float> to_theirs(std::span<const float> ours, int64_t width) const;

 private:
  std::vector<int64_t> theirs_;
  std::vector<bool> extra_;
  int64_t count_;
};

// Our matrix as theirs, or theirs as ours.
std::vector<float> transposed(std::span<const float> matrix, int64_t rows, int64_t columns);

}  // namespace residual::interop
