#include "data/words.h"

#include <utility>

#include "data/subwords.h"
#include "text/normalizer.h"
#include "text/segmenter.h"

namespace residual::data {
namespace {

constexpr std::string_view kTypographicApostrophe = "\xe2\x80\x99";  // U+2019

void straighten(std::string& line) {
  for (size_t at = 0; (at = line.find(kTypographicApostrophe, at)) != std::string::npos; ++at) {
    line.replace(at, kTypographicApostrophe.size(), "'");
  }
}

}  // namespace

ToWords::ToWords(const Recipe& recipe, const std::string& language)
    : lowercase_(recipe.text.lowercase) {
  auto options = segmenter_options(recipe, language, "");
  options.lowercase = false;
  options.subwords = "none";
  to_words_ = text::Segmenter(options, "").to_words();
}

ToWords ToWords::held_out(Recipe recipe, const std::string& language) {
  recipe.text.normalize_punctuation &= recipe.held_out.normalize;
  recipe.text.remove_non_printing &= recipe.held_out.normalize;
  ToWords words(recipe, language);
  words.straighten_apostrophes_ = recipe.held_out.straighten_apostrophes;
  return words;
}

void ToWords::operator()(std::string& line) {
  if (straighten_apostrophes_) straighten(line);
  apply(to_words_, line);
}

void ToWords::finish(std::string& line) {
  if (lowercase_) apply(text::lowercase, line);
}

void ToWords::apply(const text::LineTransform& step, std::string& line) {
  scratch_.clear();
  step(line, scratch_);
  std::swap(line, scratch_);
}

}  // namespace residual::data
