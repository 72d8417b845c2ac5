#pragma once

#include <memory>
#include <string>

#include "decode/translator.h"
#include "support/models.h"

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

}  // namespace residual::test
