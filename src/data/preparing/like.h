#pragma once

#include <map>
#include <string>

#include "base/files.h"
#include "data/recipe.h"
#include "text/segmenter.h"

namespace residual::data {

// A prepared directory or a model whose pieces and ids a new corpus reuses, so that a model of the
// one can be trained on or tested with the other.
struct Like {
  std::string place;                                // for errors
  text::Segmenter::ReadFile read;                   // segmentation.<language>.toml and so on
  std::map<std::string, std::string> vocabularies;  // files, by language
  bool language_tags = false;
};

// Returns the Like of a prepared directory.
Like like_prepared(const fs::path& directory);

// Returns the recipe with the [text], [subwords] and [vocabulary] of `like`. Throws an Error unless
// `like` has the recipe's languages.
Recipe adopt(const Like& like, Recipe recipe);

}  // namespace residual::data
