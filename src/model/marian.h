#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/directory.h"

// A model directory from a Transformer that Marian trained: OPUS-MT's models are such. They come as
// Marian wrote them, or as Hugging Face's library keeps them (MarianMTModel).
namespace residual::model {

struct MarianImport {
  fs::path weights;  // .npz, or a directory of Hugging Face's, which brings what is left empty
  fs::path source_vocabulary, target_vocabulary;  // .yml, .json or .spm
  // SentencePiece models; empty: the vocabularies' own if they are such, or none.
  fs::path source_pieces, target_pieces;
  std::string source_language, target_language;
  std::string source_tag;                // ">>deu<<": put before every source
  bool normalize_punctuation = false;    // before segmentation
  std::optional<int64_t> max_positions;  // otherwise the directory's own, or 1024
};

// Returns what was written to `output`. Architectures that differ in what they compute from a
// Post-LN or Pre-LN Transformer are an Error that names the option.
Description import_marian(const MarianImport& options, const fs::path& output);

}  // namespace residual::model
