#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "data/recipe.h"

// The manifest of a prepared directory; docs/formats.md lists the files.
namespace residual::data {

struct PreparedInput {
  std::string file;
  int64_t bytes = 0;
  std::string checksum;
};

// Counts of kept and dropped training pairs of one language pair.
struct PreparedCleaning {
  std::string pair;
  int64_t lines = 0;
  int64_t train = 0, dev = 0, test = 0;  // kept
  std::vector<std::string> reasons;
  std::vector<int64_t> dropped;  // for each reason
};

struct PreparedCorpus {
  std::string file;
  std::string split;  // "train", "dev" or "test"
  std::string source, target;
  std::string source_tag;  // symbol to put before each source, or empty
  int64_t pairs = 0;       // of running text: windows, whose source is </s> alone
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
  std::string residual, commit;  // version of ResiDual that wrote the directory
  Recipe recipe;
  std::vector<PreparedInput> inputs;
  std::vector<PreparedCleaning> cleaning;
  std::vector<PreparedVocabulary> vocabularies;
  std::vector<PreparedCorpus> corpora;
  std::vector<PreparedFile> files;  // all files of the directory except the manifest
};
void fields(ConfigVisitor& visit, PreparedInput& input);
void fields(ConfigVisitor& visit, PreparedCleaning& cleaning);
void fields(ConfigVisitor& visit, PreparedCorpus& corpus);
void fields(ConfigVisitor& visit, PreparedVocabulary& vocabulary);
void fields(ConfigVisitor& visit, PreparedFile& file);
void fields(ConfigVisitor& visit, Manifest& manifest);

// Reads prepared.toml. A directory without it is not prepared, or only partly: an error says so.
Manifest load_manifest(const fs::path& directory);

// An input file or a directory's files, with their checksums. An input must not be empty.
PreparedInput input_at(const fs::path& path);
std::vector<PreparedFile> files_in(const fs::path& directory);

// Reads a kept text: its documents, or the lines of parallel text.
std::vector<std::string> read_texts(const Manifest& manifest, const fs::path& path);

// Returns the vocabulary that encoded this language's text.
const PreparedVocabulary& vocabulary_of(const Manifest& manifest, const std::string& language);

// Returns the content of a required file. Throws an Error that names the file if it is missing, or
// if the manifest lists it with another size or checksum.
std::string read_listed(const Manifest& manifest, const fs::path& directory,
                        const std::string& file);

// Throws an Error that names the file if the manifest lists it with another size or checksum.
void check_listed(const Manifest& manifest, const fs::path& directory, const std::string& file);

// Throws an Error that names the file unless every file has the size and the checksum of the
// manifest and passes check_symbols() and check_ids().
void verify(const Manifest& manifest, const fs::path& directory);
// Throws an Error unless the vocabulary has as many symbols as the manifest says, which sets the
// size of models.
void check_symbols(const PreparedVocabulary& vocabulary, const fs::path& directory);
// Throws an Error unless every id of a corpus is in the vocabulary of its language.
void check_ids(const PreparedCorpus& corpus, const Manifest& manifest, const fs::path& directory);

// Returns tables for the user: pairs read, pairs dropped and the reasons, and the resulting
// corpora.
std::string summary(const Manifest& manifest);

}  // namespace residual::data
