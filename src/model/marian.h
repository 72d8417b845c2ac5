#pragma once

#include <string>
#include <vector>

#include "model/directory.h"

// A model directory from a Transformer that Marian trained: OPUS-MT's models are such.
namespace residual::model {

struct MarianImport {
  fs::path weights;                               // .npz
  fs::path source_vocabulary, target_vocabulary;  // .yml, .json or .spm
  // SentencePiece models; empty: the vocabularies' own if they are such, or none.
  fs::path source_pieces, target_pieces;
  std::string source_language, target_language;
  std::string source_tag;              // ">>deu<<": put before every source
  bool normalize_punctuation = false;  // before segmentation
  int64_t max_positions = 1024;
};

// Returns what was written to `output`. Architectures that differ in what they compute from a
// Post-LN or Pre-LN Transformer are an Error that names the option.
Description import_marian(const MarianImport& options, const fs::path& output);

}  // namespace residual::model
