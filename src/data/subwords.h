#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/preparing/like.h"
#include "data/recipe.h"
#include "text/segmenter.h"

namespace residual::data {

// Returns the segmentation of a recipe for one language; `model` is the file that it names.
text::SegmenterOptions segmenter_options(const Recipe& recipe, const std::string& language,
                                         const std::string& model);

// The sub-word models of a prepared directory, learnt from its training text: one for all
// languages, or one for each.
class Subwords {
 public:
  // Learns models; `texts` has the training words of each language.
  Subwords(const Recipe& recipe, const std::map<std::string, std::vector<fs::path>>& texts);

  // Takes the existing models of `like`.
  Subwords(const Recipe& recipe, const Like& like, const std::set<std::string>& languages);

  // Returns a transform from words to pieces, for one thread.
  text::LineTransform transform(const std::string& language) const {
    return models_.at(language)->segmenter.words_to_pieces();
  }

  // Writes segmentation.<language>.toml and the models that these name.
  void save(const fs::path& directory) const;

 private:
  struct Model {
    std::string file, bytes;
    text::Segmenter segmenter;
  };
  std::shared_ptr<const Model> learn(const std::string& file, const std::string& language,
                                     const std::vector<fs::path>& texts) const;

  const Recipe& recipe_;
  std::map<std::string, std::shared_ptr<const Model>> models_;  // by language
};

}  // namespace residual::data
