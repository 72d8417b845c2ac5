#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/checksums.h"
#include "model/config.h"
#include "model/safetensors.h"
#include "text/segmenter.h"
#include "text/vocabulary.h"

// A model directory keeps the model together with its vocabularies:
//
//   config.toml         Description: architecture, directions, names of the files below
//   model.safetensors   parameters under the names of parameters.h
//   vocabularies, segmentation.<language>.toml and the codes they name: as in a prepared corpus
//   checksums.txt       checksums of all these files
//
// A bundle is a model directory in one safetensors file: each other file is a byte tensor named
// "file/" and the file's name. Its header has a checksum of the whole file.
namespace residual::model {

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kBundledFile = "file/";
// An int8 matrix "x.weight" comes with "x.weight.scale", one float32 for each row.
inline constexpr const char* kScale = ".scale";
// A matrix may instead be stored as "x.weight.panels", the layout that matrix products read: 64
// rows together, column by column, [ceil(rows / 64), columns, 64], with zeros for missing rows. The
// output embedding may have both forms, with int16 panels and a scale for each row: its screen, see
// decode/weights.h.
inline constexpr const char* kPanels = ".panels";

// A translation direction of the model. A language or masked model has its language on both sides.
// `source_tag` is the symbol to put before each source, if any.
struct Direction {
  std::string source, target;  // languages
  std::string source_tag;
};

struct Description {
  int64_t format = 1;
  std::string residual, commit;  // version of ResiDual that wrote the model
  std::string origin;            // origin of the weights, for the user
  int64_t update = 0;            // training update after which the weights were saved
  std::string source_vocabulary = "vocabulary.txt";
  std::string target_vocabulary = "vocabulary.txt";
  std::vector<Direction> directions;
  Config model;
};

// Throws an Error unless `language` may be part of a file name.
void check_language(const std::string& language);

void fields(ConfigVisitor& visit, Direction& direction);
void fields(ConfigVisitor& visit, Description& description);

// Parses a config.toml called `name`. Throws an Error unless this version can run the model.
Description parse_description(const std::string& text, const std::string& name);

// Returns the names of the text-processing files that a model of this description needs.
std::vector<std::string> text_files(const Description& description, const fs::path& directory);

// When the checksum of a model's weights is compared. Other files are small: they are compared
// whenever they are read.
enum class Check {
  now,    // before open() returns
  later,  // from now on in the background; check() has the result
  never   // the caller needs no weights, or compares their checksum itself
};

// An open model directory or bundle. Opening reads config.toml and maps the weights.
class Directory {
 public:
  // Opens a model. A run directory stands for its best model, or else its last; a file is a bundle.
  // Errors name the defect: an unknown format, or a tensor that is missing, unexpected or has
  // another shape. A file that differs from its checksum is an error; files without one pass.
  static Directory open(const fs::path& path, Check check = Check::now);

  // Throws an Error unless the weights have their checksum, after waiting for Check::later if it is
  // not complete. From any thread.
  void check() const;
  // Says that `part` of weights() has just been read: check() has less to wait for if it is
  // compared while caches hold it. From any thread.
  void note_read(std::string_view part) const {
    if (check_) check_->read(part);
  }
  bool has_checksums() const;

  const fs::path& path() const { return path_; }
  const Description& description() const { return description_; }
  const SafeTensors& weights() const { return weights_; }
  // Returns a parameter in its original shape. Throws an Error if the file has panels instead.
  const TensorView& parameter(const std::string& name) const;
  text::Vocabulary source_vocabulary() const;
  text::Vocabulary target_vocabulary() const;

  // Returns the direction from `source` to `target`; either may be empty if the choice is
  // unambiguous. A direction that the model does not list, from a language that it translates to
  // one whose tag says it all, is returned too: a zero-shot direction.
  Direction direction(const std::string& source, const std::string& target) const;
  bool lists(const std::string& source, const std::string& target) const;
  text::Segmenter segmenter(const std::string& language) const;

  // The names of the text-processing files, and their contents.
  std::vector<std::string> text_files() const;
  std::string read(const std::string& file) const;
  bool contains(const std::string& file) const;
  bool is_bundle() const { return is_bundle_; }

 private:
  Directory(fs::path path, bool is_bundle, Check check);
  SafeTensors open_weights() const;
  void read_description();
  void begin_check(Check check);

  fs::path path_;
  bool is_bundle_;
  std::optional<Checksums> checksums_;  // of a directory
  SafeTensors weights_;
  Description description_;
  std::optional<uint64_t> expected_;  // checksum of the weights' file, if one is known
  std::unique_ptr<BlockCheck> check_;
};

// Returns the differences between the tensors and the parameters of the configuration: tensors that
// are missing, unexpected or have another shape. The forms that `residual export` stores are
// accepted.
std::vector<std::string> weight_problems(const SafeTensors& weights, const Config& config);
// Throws an Error with the first of weight_problems().
void check_weights(const SafeTensors& weights, const Config& config);

// Writes a directory that appears complete or not at all and replaces an existing model. Text files
// are copied from `text_from`: a prepared corpus or another model.
void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const fs::path& text_from,
                     FileSystem& system = FileSystem::real());
// Writes a directory whose text files `add_text` creates in the path it is given.
void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights,
                     const std::function<void(const fs::path&)>& add_text,
                     FileSystem& system = FileSystem::real());
// Writes a directory with the text files of `model`, which may be a bundle.
void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const Directory& model);

// Writes a bundle with the text files of `model`.
void write_bundle(const fs::path& path, const Description& description,
                  std::vector<TensorBytes> weights, const Directory& model);

}  // namespace residual::model
