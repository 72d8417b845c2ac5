#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/directory.h"

// A model directory from a Transformer that Marian trained: OPUS-MT's models are such. They come as
// Marian wrote them, or as Hugging Face's library keeps them (MarianMTModel).
namespace residual::interop {

struct MarianImport {
  fs::path weights;  // .npz, or a directory of Hugging Face's, which brings what is left empty
  fs::path source_vocabulary, target_vocabulary;  // .yml, .json or .spm
  // SentencePiece models; empty: the vocabularies' own if they are such, or none.
  fs::path source_pieces, target_pieces;
  std::string source_language, target_language;
  // ">>deu<<": put before every source. Several make a direction each, to the language that their
  // name is, and "all" stands for every symbol of that form; target_language is then not asked for.
  std::vector<std::string> source_tags;
  bool normalize_punctuation = false;    // before segmentation
  std::optional<int64_t> max_positions;  // otherwise the directory's own, or 1024
};

// Whether there is a direction for each of several tags.
bool has_many_targets(const MarianImport& options);

// Returns what was written to `output`. Architectures that differ in what they compute from a
// Post-LN or Pre-LN Transformer are an Error that names the option.
model::Description import_marian(const MarianImport& options, const fs::path& output);

}  // namespace residual::interop
