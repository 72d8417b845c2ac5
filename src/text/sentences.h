#pragma once

#include <unicode/brkiter.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/abbreviations.h"

namespace residual::text {

// Finds the sentences of a text: where ICU's rules for the language (Unicode's UAX 29 for one that
// ICU does not know) end a sentence, except after
//   an abbreviation of the tokeniser's, or letters with stops ("Dr. No", "J. R. R. Tolkien",
//     "z.B."), but for those that end a list ("etc."),
//   what only numbers an item ("2. Close the box."),
//   a quotation that its sentence continues in lower case ("\"Stop!\" she said."),
//   a sign without white space after it that belongs to a name (".NET", "#![no_std]").
// For one thread.
class SentenceSplitter {
 public:
  explicit SentenceSplitter(const std::string& language);
  SentenceSplitter(const SentenceSplitter& other);  // cheap: shares the rules
  SentenceSplitter& operator=(const SentenceSplitter&) = delete;

  // Returns the sentences in order, without the white space between and around them.
  // REQUIRES: the text is UTF-8.
  std::vector<std::string_view> operator()(std::string_view text);

 private:
  bool is_end(std::string_view sentence, std::string_view rest) const;

  std::string language_;
  std::unique_ptr<icu::BreakIterator> breaks_;
  std::shared_ptr<const Abbreviations> abbreviations_;
};

}  // namespace residual::text
