#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "text/vocabulary.h"

namespace residual::interop {

// A Marian vocabulary with our ids: <s> and <pad>, which Marian does not have, then </s> and <unk>,
// then the other symbols in Marian's order.
struct MarianVocabulary {
  text::Vocabulary vocabulary;
  std::vector<int64_t> rows;   // Marian's number of each of our symbols, from </s> on
  std::vector<bool> is_named;  // whether a row has a symbol; others must never be output
  int64_t pad = -1;            // number of <pad>, which is not among the rows; -1: none
};

// `rows` is the number of rows of the model's matrix. Files are .yml or .yaml, .json, .spm or
// .model, and otherwise text with one symbol per line. Symbols without a row are left out, as in
// Marian, with a warning.
MarianVocabulary read_marian_vocabulary(const fs::path& path, int64_t rows);

// Reads Hugging Face's vocab.json: one symbol for each row of the matrix, one of them <pad>.
MarianVocabulary read_marian_hf_vocabulary(const fs::path& path, int64_t rows);

}  // namespace residual::interop
