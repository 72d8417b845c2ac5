#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/marian.h"
#include "interop/marian_vocabulary.h"

// What an import takes from the files of either kind.
namespace residual::interop {

struct MarianModel {
  model::Config config;  // check() passes
  MarianVocabulary source, target;
  std::map<std::string, std::vector<float>> values;  // all of parameters(config)
};

// The archive that Marian itself writes.
MarianModel read_marian_npz(const MarianImport& options);
// Hugging Face's directory. The first takes from it what `options` leaves empty: vocabularies,
// SentencePiece models, languages; the second REQUIRES that this was done.
void complete_from_hf(MarianImport& options);
MarianModel read_marian_hf(const MarianImport& options);

// The logit of symbols that are not to be given: low enough to vanish from any sum.
inline constexpr float kNeverGiven = -1e8F;

// Fails unless the values of the configuration can be written and read again; `name` has them.
void require_in_range(const model::Config& config, const std::string& name);

}  // namespace residual::interop
