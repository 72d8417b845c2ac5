#pragma once

#include <string>
#include <string_view>

namespace residual::text {

// Brings quotes, dashes, brackets and no-break spaces to one form, exactly as Moses'
// normalize-punctuation.perl does. English puts full stops and commas before a closing quote, other
// languages (Czech left alone) after it; a no-break space between digits becomes a decimal point
// or, in German, Spanish, French and Czech, a comma.
//
// Thread-safe. Input is well-formed UTF-8 without '\n'.
class PunctuationNormalizer {
 public:
  explicit PunctuationNormalizer(const std::string& language);

  // Appends the normalised line to `out`.
  void operator()(std::string_view line, std::string& out) const;

 private:
  enum class Quotation { stops_inside, stops_outside, untouched };

  Quotation quotation_;
  char between_digits_;
};

// Each character of general category C (controls, formats, private use, unassigned) becomes a
// space, as in Moses' remove-non-printing-char.perl.
void remove_non_printing(std::string_view line, std::string& out);

// Converts each character to its lower-case form without regard to context, as Moses'
// lowercase.perl does: a final capital sigma becomes the medial one.
void lowercase(std::string_view line, std::string& out);

}  // namespace residual::text
