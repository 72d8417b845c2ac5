#pragma once

#include <memory>
#include <string>

#include "data/recipe.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"

namespace residual::data {

// From a raw line to words, up to where cleaning may look at them. Copies share the rules; each
// thread needs its own.
class ToWords {
 public:
  ToWords(const std::string& language, const TextOptions& options);
  // For dev and test files.
  ToWords(const std::string& language, TextOptions options, const HeldOutOptions& held_out);

  void operator()(std::string& line);
  // What follows cleaning.
  void finish(std::string& line);

 private:
  TextOptions options_;
  bool straighten_apostrophes_ = false;
  std::shared_ptr<const text::PunctuationNormalizer> normalizer_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::string scratch_;
};

}  // namespace residual::data
