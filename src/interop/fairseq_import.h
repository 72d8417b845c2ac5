#pragma once

#include <string>

#include "interop/fairseq.h"
#include "model/directory.h"
#include "text/segmenter.h"

// A model directory from what fairseq leaves behind: weights, dictionaries and BPE codes.
namespace residual::interop {

struct FairseqImport {
  fs::path weights;             // a checkpoint's tensors as safetensors
  FairseqOptions architecture;  // an empty prefix is looked for
  fs::path source_dictionary, target_dictionary;
  std::string source_language, target_language;
  text::SegmenterOptions segmentation;  // of both sides; the language is set for each
  fs::path subword_model;               // BPE codes or SentencePiece model; empty: no sub-words
};

// Directions as metadata of the exported file, under this name: fairseq has no place for them.
inline constexpr const char* kDirections = "directions";
std::string format_directions(std::vector<model::Direction> directions);

// Returns what was written to `output`. A file that has directions gives the model all of them, and
// their tags; an Error unless the two languages are one of them.
model::Description import_fairseq(const FairseqImport& options, const fs::path& output);

}  // namespace residual::interop
