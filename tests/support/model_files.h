#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "model/directory.h"
#include "model/parameters.h"

// A model small enough to be written many times.
namespace residual::model::test {

inline Config small_config(const std::string& scheme = "resi-dual") {
  Config c;
  c.encoder_layers = c.decoder_layers = 2;
  c.width = 8;
  c.inner = 16;
  c.heads = 2;
  c.source_vocabulary = c.target_vocabulary = 10;
  c.residual.name = scheme;
  return c;
}

// The first values of a model's parameters, and these as tensors to be written.
class Weights {
 public:
  explicit Weights(const Config& config, uint64_t seed = 1) {
    for (const auto& p : parameters(config)) {
      auto& values = values_.emplace_back(static_cast<size_t>(p.size()));
      initialise(p, config, seed, values);
      tensors_.push_back({p.name,
                          Dtype::f32,
                          p.shape,
                          {reinterpret_cast<const char*>(values.data()), 4 * values.size()}});
    }
  }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  std::vector<TensorBytes>& tensors() { return tensors_; }
  const std::vector<std::vector<float>>& values() const { return values_; }

 private:
  std::vector<std::vector<float>> values_;
  std::vector<TensorBytes> tensors_;
};

// Vocabulary and segmentation of a model from en to de whose words are a, b, c ...: no sub-words.
inline Description small_description(const fs::path& text_files, const Config& config) {
  fs::create_directories(text_files);
  std::string symbols;
  for (int i = 4; i < config.source_vocabulary; ++i) {
    symbols +=
        (i < 30 ? std::string(1, static_cast<char>('a' + i - 4)) : fmt::format("w{}", i)) + " 1\n";
  }
  replace_file(text_files / "vocabulary.txt", symbols);
  for (const char* language : {"en", "de"}) {
    text::Segmenter({.language = language, .tokenizer = "none", .subwords = "none"}, "")
        .save(text_files, language);
  }
  return {.origin = "test", .update = 3, .directions = {{"en", "de", ""}}, .model = config};
}

inline void write_small_model(const fs::path& path, const Config& config, uint64_t seed = 1) {
  const fs::path text = path.string() + ".text";
  const Description description = small_description(text, config);
  Weights weights(config, seed);
  write_directory(path, description, weights.tensors(), text);
  fs::remove_all(text);
}

}  // namespace residual::model::test
