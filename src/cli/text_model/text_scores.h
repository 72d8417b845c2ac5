#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decode/language/text_score.h"
#include "text/documents.h"

// What `score-text` and `evaluate` share: texts of files, and their scores in print.
namespace residual::cli {

struct TextFiles {
  std::vector<fs::path> files;
  text::Invalid invalid = text::Invalid::refuse;
  bool by_line = false;  // every line is a document
};

// Scores all documents; `each` hears of every one in order. Throws an Error if there is no word.
decode::TextScore score_files(const decode::TextScorer& scorer, const TextFiles& texts,
                              const std::function<void(const decode::TextScore&)>& each = {});

std::string text_score_json(const decode::TextScore& score);
std::string text_score_table(const decode::TextScore& score);

}  // namespace residual::cli
