#pragma once

#include <optional>

#include "data/like.h"
#include "data/prepared.h"
#include "data/recipe.h"
#include "text/lines.h"

// From raw parallel text to a prepared directory.
namespace residual::data {

struct PrepareOptions {
  fs::path output;
  bool force = false;      // replace a directory that is there
  bool keep_text = false;  // also write the segmented text
  text::Invalid invalid = text::Invalid::refuse;
  std::optional<Like> like;  // what the recipe's `like` is; nothing: a prepared directory
};

// Looks at all of the input first and fails before long work starts; the directory then appears
// whole or not at all. The result depends on the recipe and the text only, not on the number of
// threads. Memory: a few blocks per thread, the words to learn from, and up to 22 bytes per pair
// (33 while the table grows) to find duplicates.
Manifest prepare(const Recipe& recipe, const PrepareOptions& options);

}  // namespace residual::data
