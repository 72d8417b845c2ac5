#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"
#include "text/segmenter.h"
#include "text/vocabulary.h"

// A model as a directory, which can never be paired with the wrong vocabulary:
//
//   config.toml         Description: architecture, directions, names of the files below
//   model.safetensors   parameters under the names of parameters.h
//   vocabularies, segmentation.<language>.toml and the codes they name: as in a prepared corpus
//
// A bundle is the same in one safetensors file: the other files are tensors of bytes in it, each
// called "file/" and its name.
namespace residual::model {

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kBundledFile = "file/";
// An int8 matrix "x.weight" comes with "x.weight.scale", one float32 for each row.
inline constexpr const char* kScale = ".scale";
// A matrix may be "x.weight.panels" instead, laid out as products read it: of 64 rows together, one
// column after the other, [ceil(rows / 64), columns, 64], zeros in place of the rows that are not.
// The output embedding may have both, with int16 panels and a scale for each row: its screen, see
// decode/weights.h.
inline constexpr const char* kPanels = ".panels";

// What the model can translate. `source_tag` is the symbol to put before each source, if any.
struct Direction {
  std::string source, target;  // languages
  std::string source_tag;
};

struct Description {
  int64_t format = 1;
  std::string residual, commit;  // the version that wrote it
  std::string origin;            // how the weights came about, for people
  int64_t update = 0;            // of training, after which they were taken
  std::string source_vocabulary = "vocabulary.txt";
  std::string target_vocabulary = "vocabulary.txt";
  std::vector<Direction> directions;
  Config model;
};

// Fails unless it is a language that may become part of files' names.
void check_language(const std::string& language);

void fields(ConfigVisitor& visit, Direction& direction);
void fields(ConfigVisitor& visit, Description& description);

// What a config.toml called `name` says; an Error unless this version can run it.
Description parse_description(const std::string& text, const std::string& name);

// The files of text processing that a model of this description needs, by name.
std::vector<std::string> text_files(const Description& description, const fs::path& directory);

// An open model directory, or bundle. Opening reads config.toml and maps the weights.
class Directory {
 public:
  // A run directory stands for its best model, or its last; a file is a bundle. Errors name what is
  // missing or wrong: an unknown format, a tensor that is absent, has another shape or should not
  // be there.
  static Directory open(const fs::path& path);

  const fs::path& path() const { return path_; }
  const Description& description() const { return description_; }
  const SafeTensors& weights() const { return weights_; }
  // A parameter in its own shape; fails if the file has panels instead.
  const TensorView& parameter(const std::string& name) const;
  text::Vocabulary source_vocabulary() const;
  text::Vocabulary target_vocabulary() const;

  // The direction from `source` to `target`; either may be empty if that leaves no choice.
  const Direction& direction(const std::string& source, const std::string& target) const;
  text::Segmenter segmenter(const std::string& language) const;

  // Files of text processing, by name, and their contents.
  std::vector<std::string> text_files() const;
  std::string read(const std::string& file) const;
  bool contains(const std::string& file) const;
  bool is_bundle() const { return is_bundle_; }

 private:
  Directory(fs::path path, bool is_bundle);
  void read_description();

  fs::path path_;
  bool is_bundle_;
  SafeTensors weights_;
  Description description_;
};

// How the tensors differ from the parameters of the configuration: those that are missing, have
// another shape, or should not be there. Forms that `residual export` stores are no difference.
std::vector<std::string> weight_problems(const SafeTensors& weights, const Config& config);
// Fails with the first of them.
void check_weights(const SafeTensors& weights, const Config& config);

// Writes a directory that appears whole or not at all; one that is there and holds a model gives
// way. Text files are copied from `text_from`: a prepared corpus or another model.
void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const fs::path& text_from,
                     FileSystem& system = FileSystem::real());
// The same with text files that `add_text` puts into the directory it is given.
void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights,
                     const std::function<void(const fs::path&)>& add_text,
                     FileSystem& system = FileSystem::real());
// The same with the text files of `model`, which may be a bundle.
void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const Directory& model);

// Writes a bundle with the text files of `model`.
void write_bundle(const fs::path& path, const Description& description,
                  std::vector<TensorBytes> weights, const Directory& model);

}  // namespace residual::model
