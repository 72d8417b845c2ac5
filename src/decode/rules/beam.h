#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/rules/outlook.h"

namespace residual::decode {

// Beam search: Sutskever et al. 2014, section 3.2, with fairseq's rules for the end.
//
//   score(y_1 ... y_t) = score(y_1 ... y_{t-1}) + log p(y_t | y_1 ... y_{t-1}, x)
//
// The best 2 * beam of all continuations are candidates, so that `beam` of them go on even if as
// many end. A candidate that ends is finished if it is among the best `beam`; a worse one is
// dropped.
void search_beam(Outlook& outlook, Candidates& candidates);

// Every live hypothesis ends: at the greatest length, or where every token is forbidden.
void end_all(Outlook& outlook, Candidates& candidates);

// Appends the continuations of one group's hypotheses. `also` are tokens to look at beside the
// likeliest ones.
void offer(Outlook& outlook, int h, int32_t group, std::span<const int32_t> also,
           Candidates& candidates);
void offer_group(Outlook& outlook, int32_t group, Candidates& candidates);
// The order of candidates that compete with each other. It is total: the same candidates always
// come in the same order.
bool is_better(const Candidate& a, const Candidate& b);
// Leaves the best 2 * `size` of the candidates from `first` on, best first.
void keep_best(Candidates& candidates, int64_t first, int64_t size);

// Stop: whether the search for a sentence ends, given this step's candidates.
bool has_ended(const Sentence& sentence, const Candidates& candidates);

// Whether a hypothesis that ends with this score is dropped: its group is full, and unless the
// search goes on until its bound, the first ones to end stay.
bool comes_too_late(const Sentence& sentence, int64_t group, double score);
// Takes the place of the worst if the group is full. REQUIRES: !comes_too_late().
void accept(Sentence& sentence, int64_t group, Hypothesis hypothesis);
// The n_best finished hypotheses, best first; of alternatives, the best of each.
std::vector<Hypothesis> take_best(Sentence& sentence);

}  // namespace residual::decode
