#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "text/vocabulary.h"

namespace residual::interop {

// A vocabulary of Marian's in our numbers: <s> and <pad>, which Marian does not have, then </s> and
// <unk>, then the others in its order.
struct MarianVocabulary {
  text::Vocabulary vocabulary;
  std::vector<int64_t> rows;   // Marian's number of each of our symbols from </s> on
  std::vector<bool> is_named;  // of the rows; what is not must never be given
  int64_t pad = -1;  // the number of <pad>, which is not among the rows; -1: there is none
};

// `rows` is how many the model's matrix has. Files are .yml or .yaml, .json, .spm or .model, and
// otherwise text with a symbol on each line. Marian leaves out symbols whose numbers have no row,
// and so does this, with a warning.
MarianVocabulary read_marian_vocabulary(const fs::path& path, int64_t rows);

// Hugging Face's vocab.json: a symbol for each row of the matrix, one of them <pad>.
MarianVocabulary read_marian_hf_vocabulary(const fs::path& path, int64_t rows);

}  // namespace residual::interop
