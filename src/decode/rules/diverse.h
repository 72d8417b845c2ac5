#pragma once

#include "decode/rules/outlook.h"

namespace residual::decode {

// Diverse beam search: Vijayakumar et al. 2018, with Hamming diversity. The groups of a beam choose
// their tokens in turn; a group orders its candidates by
//
//   score(y_1 ... y_t) - strength * (hypotheses of earlier groups that go on with y_t)
//
// The cost never enters a score: it decides which candidates go on. Each group ends by itself.
void search_groups(Outlook& outlook, Candidates& candidates);

}  // namespace residual::decode
