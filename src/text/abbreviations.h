#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace residual::text {

// "pt" of "pt_BR", "sr" of "sr@latin": a region goes by its language's rules.
std::string without_region(const std::string& language);

// Words after which a full stop does not end a sentence, in one language.
class Abbreviations {
 public:
  enum class Stop { ends_sentence, belongs_to_word, belongs_before_number };

  // Those of English if the language has none of its own.
  explicit Abbreviations(const std::string& language);

  // What a stop after `word` is.
  Stop stop_after(const std::string& word) const {
    const auto found = stops_.find(word);
    return found == stops_.end() ? Stop::ends_sentence : found->second;
  }

  // Languages that have abbreviations of their own, in alphabetical order.
  static std::vector<std::string> languages();
  static bool know(const std::string& language);

 private:
  std::unordered_map<std::string, Stop> stops_;
};

}  // namespace residual::text
