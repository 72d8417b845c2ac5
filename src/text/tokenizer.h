#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/abbreviations.h"

namespace residual::text {

struct TokenizerOptions {
  std::string language = "en";
  bool aggressive = false;  // "high-speed" becomes "high @-@ speed"
  bool escape = true;       // & | < > ' " [ ] become entities
};

// Splits words from punctuation exactly as Moses' tokenizer.perl does. Each line goes through
//
//   clean       white space becomes single spaces, controls vanish
//   separate    symbols, commas and runs of dots get spaces around them
//   contract    apostrophes: "don 't" in English, "l' eau" in French, ...
//   words       a final stop leaves its word unless the word is an abbreviation
//
// Thread-safe. Input is well-formed UTF-8 without '\n'. A line of white space only stays as it is.
class Tokenizer {
 public:
  explicit Tokenizer(const TokenizerOptions& options);

  // Appends the tokenised line to `out`.
  void operator()(std::string_view line, std::string& out) const;

 private:
  struct ApostropheRule;
  struct Scratch;

  static const std::vector<ApostropheRule>* apostrophe_rules(const std::string& language);

  void clean(std::string_view line, Scratch& scratch) const;
  void separate(Scratch& scratch) const;
  bool joins(const std::vector<uint32_t>& text, size_t at) const;
  void contract(Scratch& scratch) const;
  void words(Scratch& scratch, std::string& out) const;

  TokenizerOptions options_;
  Abbreviations abbreviations_;
  const std::vector<ApostropheRule>* rules_;  // none: an apostrophe is a token of its own
  bool colon_joins_;                          // Finnish and Swedish: "EU:n"
  bool middle_dot_joins_;                     // Catalan: "il·lusió"
  bool apostrophe_joins_before_lower_case_;   // Tetun
};

}  // namespace residual::text
