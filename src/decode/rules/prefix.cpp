#include "decode/rules/prefix.h"

namespace residual::decode {

void follow_prefix(Outlook& outlook, Candidates& candidates) {
  const Sentence& s = outlook.sentence();
  const TokenChoice choice = outlook.given(0, s.request.prefix[s.length]);
  // The only candidate: nothing is compared with its score, and the tree adds up the parents'.
  candidates.push_back({.score = choice.log_probability, .parent = 0, .lane = 0, .choice = choice});
}

}  // namespace residual::decode
