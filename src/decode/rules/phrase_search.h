#pragma once

#include "decode/rules/outlook.h"

namespace residual::decode {

// Dynamic beam allocation: Post and Vilar 2018. The candidates are the likeliest tokens of every
// hypothesis and, in addition, each token that begins or continues a phrase. Candidates compete
// only within their bank, those with the same number of the phrases' tokens:
//
//   bank(y_1 ... y_t) = tokens of the phrases met + most tokens of a phrase begun
//
// The best of each bank come first, the fullest bank before the others; then the second best of
// each bank, and so on, so that the beam holds hypotheses of all banks.
void search_with_phrases(Outlook& outlook, Candidates& candidates);

// Where all hypotheses end: leaves those with the most tokens of the phrases; none if they lack
// some and a hypothesis with all phrases has finished.
void keep_most_phrases(const Sentence& sentence, Candidates& candidates);

}  // namespace residual::decode
