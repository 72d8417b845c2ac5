#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "model/directory.h"
#include "model/parameters.h"
#include "text/vocabulary.h"

// Models with random weights over symbols w0, w1, ... and lines for them.
namespace residual::bench {

inline void write_model(const fs::path& path, const model::Config& config) {
  const fs::path text = path.parent_path() / "text";
  fs::create_directories(text);
  text::VocabularyBuilder builder;
  const auto words = static_cast<uint64_t>(config.target_vocabulary - text::Vocabulary::kSpecials);
  for (uint64_t i = 0; i < words; ++i) builder.add("w" + std::to_string(i), words - i);
  builder.finish().save(text / "vocabulary.txt");
  std::vector<std::vector<float>> values;
  std::vector<model::TensorBytes> tensors;
  for (const auto& p : model::parameters(config)) {
    auto& v = values.emplace_back(p.size());
    model::initialise(p, config, 1, v);
    tensors.push_back({p.name,
                       model::Dtype::f32,
                       p.shape,
                       {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)}});
  }
  model::Description description;
  description.model = config;
  model::write_directory(path, description, tensors, text);
}

// A line of `tokens` tokens, </s> included, of the first `words` words.
inline std::string random_line(uint64_t number, int tokens, uint64_t words) {
  std::string line;
  for (int i = 0; i < tokens - 1; ++i) {
    line += fmt::format("w{} ", Random(1, number).below(static_cast<uint64_t>(i), words));
  }
  return line;
}

}  // namespace residual::bench
