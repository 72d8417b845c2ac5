#pragma once

#include "decode/rules/outlook.h"

namespace residual::decode {

// Alternatives: translations that differ in the token after the prefix. The n_best likeliest tokens
//
//   y_t in top-n_best p(. | prefix, x)
//
// each begin a group of the beam. The groups go on as beams of beam / n_best hypotheses that do not
// compete, and each gives its best translation.
void begin_alternatives(Outlook& outlook, Candidates& candidates);

// Leaves the best finished hypothesis of each alternative. REQUIRES: they are best first.
void keep_best_of_each(Sentence& sentence);

}  // namespace residual::decode
