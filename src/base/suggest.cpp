#include "base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace residual {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string suggestion(std::string_view unknown, std::span<const std::string> known) {
  constexpr size_t kLongest = 64;  // nobody mistypes more, and comparing takes long
  if (unknown.size() > kLongest) return "";
  size_t best = std::max<size_t>(2, unknown.size() / 3) + 1;
  const std::string* closest = nullptr;
  for (const auto& name : known) {
    if (name.size() >= unknown.size() + best) continue;  // so many more to insert
    const size_t distance = edit_distance(unknown, name);
    if (distance < best && distance < name.size()) {
      best = distance;
      closest = &name;
    }
  }
  for (size_t i = 0; !closest && i < known.size(); ++i) {  // abbreviations, such as --ref
    constexpr size_t kShortest = 4;
    const bool begins = unknown.starts_with(known[i]) || known[i].starts_with(unknown);
    if (begins && std::min(known[i].size(), unknown.size()) >= kShortest) closest = &known[i];
  }
  return closest ? fmt::format("; did you mean \"{}\"?", *closest) : "";
}

}  // namespace residual
