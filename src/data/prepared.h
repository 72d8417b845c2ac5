#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "data/recipe.h"

// What a prepared directory says about itself; docs/formats.md lists its files.
namespace residual::data {

struct PreparedInput {
  std::string file;
  int64_t bytes = 0;
  std::string checksum;
};

// What became of the training pairs of one language pair.
struct PreparedCleaning {
  std::string pair;
  int64_t lines = 0;
  int64_t train = 0, dev = 0;  // kept
  std::vector<std::string> reasons;
  std::vector<int64_t> dropped;  // for each reason
};

struct PreparedCorpus {
  std::string file;
  std::string split;  // "train", "dev" or "test"
  std::string source, target;
  std::string source_tag;  // what is to stand before each source, or nothing
  int64_t pairs = 0;
  int64_t source_tokens = 0, target_tokens = 0;    // with </s>
  int64_t source_unknown = 0, target_unknown = 0;  // <unk> among them
  std::string source_text, target_text;            // the raw lines, for scoring; not kept for train
};

struct PreparedVocabulary {
  std::string file;
  std::vector<std::string> languages;
  int64_t symbols = 0;
};

struct PreparedFile {
  std::string file;
  int64_t bytes = 0;
  std::string checksum;
};

struct Manifest {
  int64_t format = 1;
  std::string residual, commit;  // the version that wrote it
  Recipe recipe;
  std::vector<PreparedInput> inputs;
  std::vector<PreparedCleaning> cleaning;
  std::vector<PreparedVocabulary> vocabularies;
  std::vector<PreparedCorpus> corpora;
  std::vector<PreparedFile> files;  // all of the directory but the manifest
};
void fields(ConfigVisitor& visit, PreparedInput& input);
void fields(ConfigVisitor& visit, PreparedCleaning& cleaning);
void fields(ConfigVisitor& visit, PreparedCorpus& corpus);
void fields(ConfigVisitor& visit, PreparedVocabulary& vocabulary);
void fields(ConfigVisitor& visit, PreparedFile& file);
void fields(ConfigVisitor& visit, Manifest& manifest);

// Reads prepared.toml. A directory without it is not, or only half, prepared: an error says so.
Manifest load_manifest(const fs::path& directory);

// The one that this language's text was encoded with.
const PreparedVocabulary& vocabulary_of(const Manifest& manifest, const std::string& language);

// The content of a file that the directory cannot do without. Fails, naming it, if it is not there
// or has not the size and the checksum of the manifest, where that lists it.
std::string read_listed(const Manifest& manifest, const fs::path& directory,
                        const std::string& file);

// Fails, naming the file, unless every file has the size and the checksum of the manifest, and what
// the next two demand holds.
void verify(const Manifest& manifest, const fs::path& directory);
// Fails unless the vocabulary has as many symbols as the manifest says: models are made by that.
void check_symbols(const PreparedVocabulary& vocabulary, const fs::path& directory);
// Fails unless every id of a corpus is among the symbols of its language.
void check_ids(const PreparedCorpus& corpus, const Manifest& manifest, const fs::path& directory);

// Tables for people: what came in, what was dropped and why, what there is now.
std::string summary(const Manifest& manifest);

}  // namespace residual::data
