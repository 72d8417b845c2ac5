#include "decode/rules/diverse.h"

#include <algorithm>

#include "decode/rules/beam.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

constexpr int32_t kEos = text::Vocabulary::kEos;

// Appends the tokens with which a group goes on. A group whose last places are taken by candidates
// that end chooses nothing, and later groups need not avoid its tokens.
void append_chosen(std::span<const Candidate> group, int64_t size, int64_t ended,
                   std::vector<int32_t>& taken) {
  ended += std::ranges::count_if(
      group, [](const Candidate& c) { return c.is_among_best && c.choice.token == kEos; });
  if (ended >= size) return;
  int64_t chosen = 0;
  for (const auto& candidate : group) {
    if (candidate.choice.token == kEos) continue;
    if (chosen++ == size) break;
    taken.push_back(candidate.choice.token);
  }
}

}  // namespace

void search_groups(Outlook& outlook, Candidates& candidates) {
  const Sentence& s = outlook.sentence();
  // Alternatives are groups, too, but already differ in their first token.
  const double strength = s.options().alternatives ? 0 : s.options().diverse_strength;
  std::vector<int32_t> taken;
  for (int32_t group = 0; group < s.groups(); ++group) {
    const size_t first = candidates.size();
    offer_group(outlook, group, candidates);
    for (auto& c : std::span(candidates).subspan(first)) {
      c.likeness = strength * static_cast<double>(std::ranges::count(taken, c.choice.token));
    }
    keep_best(candidates, static_cast<int64_t>(first), s.group_size());
    append_chosen(std::span(candidates).subspan(first), s.group_size(), s.ended[group], taken);
  }
}

}  // namespace residual::decode
