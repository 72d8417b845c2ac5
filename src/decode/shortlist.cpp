#include "decode/shortlist.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "text/lines.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

struct Entry {
  std::string_view target, source;
  double probability;
};

// The next word of `rest`, which is shortened by it.
std::string_view take_word(std::string_view& rest) {
  constexpr const char* kBlanks = " \t\r";
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

Entry parse(std::string_view line, const std::string& name, uint64_t number) {
  Entry entry{};
  std::string_view rest = line;
  entry.target = take_word(rest);
  entry.source = take_word(rest);
  const std::string_view given = take_word(rest);
  const auto [end, error] =
      std::from_chars(given.data(), given.data() + given.size(), entry.probability);
  const bool is_number = !given.empty() && error == std::errc() &&
                         end == given.data() + given.size() && std::isfinite(entry.probability);
  require(is_number && take_word(rest).empty(),
          "{}:{}: expected \"target source probability\", as residual shortlist and Marian's tools "
          "write it",
          name, number);
  return entry;
}

}  // namespace

void check_shortlist(const SearchOptions& search, size_t models, const NameOfKey& name) {
  const std::pair<bool, std::string> others[] = {
      {models > 1, "several models"},
      {search.sampling.is_on, name("sampling.is_on")},
      {search.no_repeat_ngram > 0, name("no_repeat_ngram")},
      {search.repetition_penalty != 1, name("repetition_penalty")},
      {search.unk_penalty < 0, "a negative " + name("unk_penalty")}};
  for (const auto& [is_given, what] : others) {
    require(!is_given, "a shortlist does not go with {}", what);
  }
}

Shortlist::Shortlist(const ShortlistOptions& options, const Vocabulary& source,
                     const Vocabulary& target)
    : translations_(static_cast<size_t>(source.size())),
      first_rare_(static_cast<int32_t>(
          std::min<int64_t>(Vocabulary::kSpecials + options.frequent, target.size()))),
      is_joined_(&source == &target) {
  const std::string name = options.file.string();
  std::vector<std::vector<std::pair<double, int32_t>>> found(translations_.size());
  uint64_t number = 0, known = 0;
  text::LineCursor lines(options.file);
  while (const auto line = lines.next()) {
    const Entry entry = parse(*line, name, ++number);
    const int32_t from = source.id(entry.source), to = target.id(entry.target);
    if (from == Vocabulary::kUnk || to == Vocabulary::kUnk) continue;
    ++known;
    found[from].emplace_back(entry.probability, to);
  }
  require(number > 0, "{}: is empty", name);
  require(2 * known >= number,
          "{}: the model's vocabularies have the symbols of {} of {} lines; is it another model's, "
          "or of words and not of pieces?",
          name, known, number);
  for (size_t from = 0; from < found.size(); ++from) {
    auto& each = found[from];
    std::ranges::sort(each, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (static_cast<int64_t>(each.size()) > options.best) each.resize(options.best);
    for (const auto& [probability, to] : each) translations_[from].push_back(to);
  }
}

std::vector<int32_t> Shortlist::symbols(std::span<const int32_t> source,
                                        std::span<const int32_t> prefix) const {
  std::vector<int32_t> all(prefix.begin(), prefix.end());
  for (int32_t id = 0; id < first_rare_; ++id) all.push_back(id);
  for (const int32_t id : source) {
    const auto& translations = translations_[id];
    all.insert(all.end(), translations.begin(), translations.end());
    if (is_joined_) all.push_back(id);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace residual::decode
