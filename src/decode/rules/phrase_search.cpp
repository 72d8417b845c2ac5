#include "decode/rules/phrase_search.h"

#include <algorithm>
#include <tuple>

#include "decode/rules/beam.h"

namespace residual::decode {

void search_with_phrases(Outlook& outlook, Candidates& candidates) {
  const Sentence& s = outlook.sentence();
  const Phrases& phrases = *s.request.phrases;
  std::vector<int32_t> wanted;
  for (int h = 0; h < outlook.hypotheses(); ++h) {
    wanted.clear();
    phrases.append_next(s.live[h].phrases, wanted);
    offer(outlook, h, 0, wanted, candidates);
  }
  std::ranges::sort(candidates, is_better);

  struct Place {
    int tier;      // candidates of the same bank that are better
    int64_t bank;  // tokens of the phrases
    size_t candidate;
  };
  std::vector<int> seen(phrases.tokens() + 1);  // by bank
  std::vector<Place> places;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    const int64_t bank = phrases.tokens(phrases.after(s.live[c.parent].phrases, c.choice.token));
    places.push_back({seen[bank]++, bank, i});
  }
  std::ranges::sort(places, {}, [](const Place& p) { return std::pair(p.tier, -p.bank); });
  Candidates ordered;
  for (const auto& [tier, bank, candidate] : places) {
    ordered.push_back(candidates[candidate]);
    ordered.back().is_among_best = tier < s.options().beam;
  }
  candidates = std::move(ordered);
}

void keep_most_phrases(const Sentence& s, Candidates& candidates) {
  const Phrases& phrases = *s.request.phrases;
  const auto tokens = [&](const Candidate& c) { return phrases.tokens(s.live[c.parent].phrases); };
  const int64_t most = tokens(std::ranges::max(candidates, {}, tokens));
  const bool is_enough = s.finished.empty() || most == phrases.tokens();
  std::erase_if(candidates, [&](const auto& c) { return !is_enough || tokens(c) < most; });
}

}  // namespace residual::decode
