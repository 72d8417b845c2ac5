#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/translator.h"
#include "model/directory.h"
#include "support/models.h"
#include "support/temporary.h"
#include "text/segmenter.h"

namespace residual::test {

// Words w0 ... w45, each a symbol; text is words between spaces.
inline decode::TextTools word_tools() {
  decode::TextTools tools;
  text::VocabularyBuilder builder;
  for (uint64_t i = 0; i < 46; ++i) builder.add("w" + std::to_string(i), 100 - i);
  tools.source_vocabulary = tools.target_vocabulary =
      std::make_shared<text::Vocabulary>(builder.finish({.multiple = 1}));
  return tools;
}

inline decode::Translator word_translator(const decode::TranslatorOptions& options = {},
                                          const decode::TextTools& tools = word_tools()) {
  return {{random_model(small_config()).weights()}, tools, options};
}

inline std::string words(int first, int count) {
  std::string line;
  for (int i = 0; i < count; ++i) {
    line += (i > 0 ? " w" : "w") + std::to_string((first + 7 * i) % 46);
  }
  return line;
}

// A model directory from words to words.
inline void write_word_model(const fs::path& path, const ModelValues& made) {
  const TemporaryDirectory text;
  word_tools().source_vocabulary->save(text / "vocabulary.txt");
  const text::Segmenter segmenter({.language = "en", .subwords = "none"}, "");
  segmenter.save(text.path(), "en");
  segmenter.save(text.path(), "de");
  model::Description description;
  description.model = made.config;
  description.directions = {{"en", "de", ""}};
  std::vector<model::TensorBytes> tensors;
  for (const auto& p : model::parameters(made.config)) {
    const auto& values = made.values.at(p.name);
    tensors.push_back({p.name,
                       model::Dtype::f32,
                       p.shape,
                       {reinterpret_cast<const char*>(values.data()), p.size() * sizeof(float)}});
  }
  model::write_directory(path, description, tensors, text.path());
}

}  // namespace residual::test
