#include "text/abbreviations.h"

#include <toml++/toml.h>

namespace residual::text {

extern const std::string_view abbreviations_toml;

namespace {

const toml::table& all() {
  static const toml::table table = toml::parse(abbreviations_toml);
  return table;
}

}  // namespace

std::string without_region(const std::string& language) {
  return language.substr(0, language.find_first_of("_@"));
}

Abbreviations::Abbreviations(const std::string& language) {
  const auto own = all()[know(language) ? without_region(language) : "en"];
  const auto add = [&](const char* key, Stop stop) {
    for (const auto& word : *own[key].as_array()) stops_.emplace(*word.value<std::string>(), stop);
  };
  add("always", Stop::belongs_to_word);
  add("before_number", Stop::belongs_before_number);
}

std::vector<std::string> Abbreviations::languages() {
  std::vector<std::string> names;
  for (const auto& [name, words] : all()) names.emplace_back(name.str());
  return names;
}

bool Abbreviations::know(const std::string& language) {
  return all().contains(without_region(language));
}

}  // namespace residual::text
