#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace residual::text {

// Returns "pt" for "pt_BR" and "sr" for "sr@latin": a region follows the rules of its language.
std::string without_region(const std::string& language);

// Words after which a full stop does not end a sentence, in one language.
class Abbreviations {
 public:
  enum class Stop { ends_sentence, belongs_to_word, belongs_before_number };

  // Loads the English list if the language has none.
  explicit Abbreviations(const std::string& language);

  // Returns the meaning of a full stop after `word`.
  Stop stop_after(const std::string& word) const {
    const auto found = stops_.find(word);
    return found == stops_.end() ? Stop::ends_sentence : found->second;
  }

  // Returns the languages with an abbreviation list, in alphabetical order.
  static std::vector<std::string> languages();
  static bool know(const std::string& language);

 private:
  std::unordered_map<std::string, Stop> stops_;
};

}  // namespace residual::text
