#pragma once

#include <string>

#include "interop/fairseq.h"
#include "model/directory.h"
#include "text/segmenter.h"

// Import of a fairseq model: weights, dictionaries and BPE codes become a model directory.
namespace residual::interop {

struct FairseqImport {
  fs::path weights;             // the checkpoint's tensors in safetensors format
  FairseqOptions architecture;  // an empty prefix is detected
  fs::path source_dictionary, target_dictionary;
  std::string source_language, target_language;
  text::SegmenterOptions segmentation;  // of both sides; the import sets the language of each
  fs::path subword_model;               // BPE codes or SentencePiece model; empty: no sub-words
};

// The metadata key of an exported file's directions, for which fairseq has no field.
inline constexpr const char* kDirections = "directions";
std::string format_directions(std::vector<model::Direction> directions);

// Returns the description of the model written to `output`. If the file has directions, the model
// gets all of them with their tags; throws an Error unless the two languages are one of them.
model::Description import_fairseq(const FairseqImport& options, const fs::path& output);

}  // namespace residual::interop
