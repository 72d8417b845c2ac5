#include "schemes/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/suggest.h"
#include "schemes/list.h"

namespace residual::schemes {
namespace {

template <class... S>
std::vector<Entry> entries_of(List<S...> /*list*/) {
  return {entry_of<S>()...};
}

std::vector<Entry>& entries() {
  static std::vector<Entry> all = entries_of(Schemes{});
  return all;
}

}  // namespace

const std::vector<Entry>& registry() { return entries(); }

void add_entry(Entry entry) {
  require(std::ranges::count(entries(), entry.name, &Entry::name) == 0,
          "residual scheme \"{}\": there is one of that name", entry.name);
  entries().push_back(std::move(entry));
}

const Entry& find(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : registry()) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  const std::string hint = suggestion(name, known);
  fail("unknown residual scheme \"{}\"{}", name,
       hint.empty() ? "; `residual schemes` lists them" : hint);
}

Choice resolve(Choice choice) {
  const auto& variants = find(choice.name).variants;
  if (choice.variant.empty() && !variants.empty()) choice.variant = variants[0];
  const bool known = choice.variant.empty() || std::ranges::count(variants, choice.variant) > 0;
  require(known, "{}: no variant \"{}\"; it has: {}", choice.name, choice.variant,
          variants.empty() ? "none" : fmt::format("{}", fmt::join(variants, ", ")));
  return choice;
}

std::vector<std::pair<std::string, std::string>> option_values(Choice choice) {
  const Entry& entry = find(choice.name);
  std::istringstream lines(
      write_toml([&](ConfigVisitor& visit) { entry.fields(visit, choice); }, /*explain=*/false));
  std::vector<std::pair<std::string, std::string>> values;
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (equals != std::string::npos)
      values.emplace_back(line.substr(0, equals), line.substr(equals + 3));
  }
  return values;
}

void fields(ConfigVisitor& visit, Choice& choice) {
  const std::string before = choice.name;
  visit("name", choice.name, "the residual scheme; `residual schemes` lists them");
  if (choice.name != before) choice = {.name = choice.name};
  visit("variant", choice.variant, "of the scheme, where it has several; empty is the first");
  const Entry& chosen = find(choice.name);
  chosen.fields(visit, choice);
  for (const auto& other : registry()) {
    if (other.name == chosen.name) continue;
    visit.pass_over_defaults(other.name, [&](ConfigVisitor& others) {
      Choice defaults{.name = other.name};
      other.fields(others, defaults);
    });
  }
}

}  // namespace residual::schemes
