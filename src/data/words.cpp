#include "data/words.h"

#include <utility>

namespace residual::data {
namespace {

constexpr std::string_view kTypographicApostrophe = "\xe2\x80\x99";  // U+2019

void straighten(std::string& line) {
  for (size_t at = 0; (at = line.find(kTypographicApostrophe, at)) != std::string::npos; ++at) {
    line.replace(at, kTypographicApostrophe.size(), "'");
  }
}

}  // namespace

ToWords::ToWords(const std::string& language, const TextOptions& options) : options_(options) {
  if (options_.normalize_punctuation) {
    normalizer_ = std::make_shared<text::PunctuationNormalizer>(language);
  }
  if (options_.tokenizer == TokenizerKind::moses) {
    tokenizer_ = std::make_shared<text::Tokenizer>(
        text::TokenizerOptions{language, options_.aggressive, options_.escape});
  }
}

ToWords::ToWords(const std::string& language, TextOptions options, const HeldOutOptions& held_out)
    : ToWords(language, [&] {
        options.normalize_punctuation &= held_out.normalize;
        options.remove_non_printing &= held_out.normalize;
        return options;
      }()) {
  straighten_apostrophes_ = held_out.straighten_apostrophes;
}

void ToWords::operator()(std::string& line) {
  const auto apply = [&](const auto& step) {
    scratch_.clear();
    step(line, scratch_);
    std::swap(line, scratch_);
  };
  if (straighten_apostrophes_) straighten(line);
  if (normalizer_) apply(*normalizer_);
  if (options_.remove_non_printing) apply(text::remove_non_printing);
  if (tokenizer_) apply(*tokenizer_);
}

void ToWords::finish(std::string& line) {
  if (!options_.lowercase) return;
  scratch_.clear();
  text::lowercase(line, scratch_);
  std::swap(line, scratch_);
}

}  // namespace residual::data
