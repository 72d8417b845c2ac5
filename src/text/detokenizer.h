#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace residual::text {

// Joins tokens to running text exactly as Moses' detokenizer.perl does: undoes "@-@" and the
// tokeniser's entities, attaches punctuation, brackets and quotes to the word they belong to, and
// joins Chinese, Japanese and Korean words. English, Czech, Finnish, French and Italian have rules
// of their own, Korean keeps its spaces, all other languages share the general rules.
//
// Thread-safe. Input is well-formed UTF-8 without '\n'. A line that is one <tag>, or white space
// only, stays as it is.
class Detokenizer {
 public:
  explicit Detokenizer(const std::string& language);

  // Appends the joined line to `out`.
  void operator()(std::string_view line, std::string& out) const;

 private:
  using Words = std::vector<std::string_view>;
  struct Joiner;

  bool joins_contraction(const Words& words, size_t i) const;
  bool opens_contraction(const Words& words, size_t i) const;
  bool continues_czech_number(const Words& words, size_t i) const;
  bool opens_czech_compound(const Words& words, size_t i) const;
  void quote(const Words& words, size_t i, Joiner& joiner) const;

  bool english_, czech_, finnish_, french_, italian_, korean_;
};

}  // namespace residual::text
