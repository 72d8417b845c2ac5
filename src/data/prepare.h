#pragma once

#include <optional>

#include "data/prepared.h"
#include "data/preparing/like.h"
#include "data/recipe.h"
#include "text/lines.h"

// Preparation of raw parallel text into a prepared directory.
namespace residual::data {

struct PrepareOptions {
  fs::path output;
  bool force = false;      // replace an existing directory
  bool keep_text = false;  // also write the segmented text
  text::Invalid invalid = text::Invalid::refuse;
  std::optional<Like> like;  // the recipe's `like`; nothing: it is a prepared directory
};

// Inspects all input first and fails before long work starts. The directory appears complete or not
// at all. The result depends only on the recipe and the text, not on the number of threads. Memory:
// a few blocks per thread, the words to learn from, and up to 22 bytes per pair (33 while the table
// grows) to find duplicates.
Manifest prepare(const Recipe& recipe, const PrepareOptions& options);

}  // namespace residual::data
