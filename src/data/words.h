#pragma once

#include <string>

#include "data/recipe.h"
#include "text/lines.h"

namespace residual::data {

// Converts a raw line to words as a prepared directory's segmentation does, but in two steps,
// because cleaning precedes lower-casing. Copies share the rules; each thread needs a copy.
class ToWords {
 public:
  ToWords(const Recipe& recipe, const std::string& language);
  // Returns the conversion for dev and test files, which may differ from that of training text.
  static ToWords held_out(Recipe recipe, const std::string& language);

  void operator()(std::string& line);
  void finish(std::string& line);

 private:
  void apply(const text::LineTransform& step, std::string& line);

  bool straighten_apostrophes_ = false;
  bool lowercase_;
  text::LineTransform to_words_;
  std::string scratch_;
};

}  // namespace residual::data
