#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/directory.h"

// Import of a Transformer that Marian trained, such as OPUS-MT's models, as a model directory. The
// input is in Marian's format or in that of Hugging Face's library (MarianMTModel).
namespace residual::interop {

struct MarianImport {
  fs::path weights;  // .npz, or a Hugging Face directory, which supplies empty members
  fs::path source_vocabulary, target_vocabulary;  // .yml, .json or .spm
  // SentencePiece models. If empty, the vocabularies' models are used if they are .spm files,
  // otherwise none.
  fs::path source_pieces, target_pieces;
  std::string source_language, target_language;
  // Tags such as ">>deu<<", put before every source. Each of several tags makes a direction to the
  // language in its name; "all" stands for every symbol of that form. target_language is then
  // unused.
  std::vector<std::string> source_tags;
  bool normalize_punctuation = false;    // before segmentation
  std::optional<int64_t> max_positions;  // default: the directory's value, or 1024
};

// Returns whether several tags make a direction each.
bool has_many_targets(const MarianImport& options);

// Returns the description of the model written to `output`. An Error names the option if the
// architecture computes anything other than a Post-LN or Pre-LN Transformer.
model::Description import_marian(const MarianImport& options, const fs::path& output);

}  // namespace residual::interop
