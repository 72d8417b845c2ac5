#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/marian.h"
#include "interop/marian_vocabulary.h"

// The data that an import takes from files of either format.
namespace residual::interop {

struct MarianModel {
  model::Config config;  // check() passes
  MarianVocabulary source, target;
  std::map<std::string, std::vector<float>> values;  // all of parameters(config)
};

// Reads the archive that Marian writes.
MarianModel read_marian_npz(const MarianImport& options);
// Hugging Face's directory. complete_from_hf() fills empty members of `options` from it:
// vocabularies, SentencePiece models, languages. read_marian_hf() REQUIRES completed options.
void complete_from_hf(MarianImport& options);
MarianModel read_marian_hf(const MarianImport& options);

// The logit of symbols that the model must never output: low enough to vanish from any sum.
inline constexpr float kNeverGiven = -1e8F;

// Throws an Error unless the configuration's values are in range, so that they can be written and
// read again. `name` is the file in errors.
void require_in_range(const model::Config& config, const std::string& name);

}  // namespace residual::interop
