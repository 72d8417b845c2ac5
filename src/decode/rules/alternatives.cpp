#include "decode/rules/alternatives.h"

#include <set>

namespace residual::decode {

void begin_alternatives(Outlook& outlook, Candidates& candidates) {
  for (const TokenChoice& choice : outlook.likeliest(0)) {
    const auto group = static_cast<int32_t>(candidates.size());
    if (group == outlook.sentence().groups()) break;
    candidates.push_back({.score = outlook.score(0) + choice.log_probability,
                          .parent = 0,
                          .lane = group,
                          .choice = choice});
  }
}

void keep_best_of_each(Sentence& s) {
  std::set<int32_t> begun;
  std::erase_if(s.finished, [&](const Hypothesis& h) {
    return !begun.insert(h.tokens[s.request.prefix.size() - s.prompt()]).second;
  });
}

}  // namespace residual::decode
