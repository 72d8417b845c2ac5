#include "decode/rules/beam.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "decode/rules/alternatives.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

constexpr int32_t kEos = text::Vocabulary::kEos;

template <class S>
auto& worst(S& s) {
  return *std::ranges::min_element(s.finished, {}, &Hypothesis::score);
}

// An upper bound of every score that a descendant of the candidates can reach. The sum of its
// log-probabilities can only fall, but for rewards of <unk>; its length is anything between the
// present and the greatest, and each term of the score is monotonic in the length, so that one of
// the two lengths has its maximum.
double best_possible(const Sentence& s, const Candidates& candidates) {
  double best = -std::numeric_limits<double>::infinity();
  for (const auto& candidate : candidates) {
    if (candidate.choice.token != kEos) best = std::max(best, candidate.score);
  }
  if (std::isinf(best)) return best;
  const auto shortest = static_cast<double>(s.length + 2 - s.prompt());
  const auto longest = static_cast<double>(s.max_length + 1 - s.prompt());
  const auto bound = [&](double term, double power) {
    return std::max(term * std::pow(shortest, power), term * std::pow(longest, power));
  };
  const double rewards = std::max(0.0, -s.options().unk_penalty) * (longest - shortest + 1);
  return bound(best + rewards, -s.options().length_penalty) +
         bound(-s.options().word_penalty, 1 - s.options().length_penalty);
}

}  // namespace

void offer(Outlook& outlook, int h, int32_t group, std::span<const int32_t> also,
           Candidates& candidates) {
  const double sum = outlook.score(h);
  int nth = 0;
  for (const TokenChoice& choice : outlook.likeliest(h, also)) {
    candidates.push_back({.score = sum + choice.log_probability,
                          .parent = h,
                          .lane = group,
                          .choice = choice,
                          .nth = nth++});
  }
}

void offer_group(Outlook& outlook, int32_t group, Candidates& candidates) {
  const Sentence& s = outlook.sentence();
  for (int h = 0; h < outlook.hypotheses(); ++h) {
    // The first hypothesis belongs to all groups.
    if (!s.is_split || s.live[h].lane == group) offer(outlook, h, group, {}, candidates);
  }
}

bool is_better(const Candidate& a, const Candidate& b) {
  const double of_a = a.score - a.likeness, of_b = b.score - b.likeness;
  if (of_a != of_b) return of_a > of_b;
  return a.parent != b.parent ? a.parent < b.parent : a.nth < b.nth;
}

void keep_best(Candidates& candidates, int64_t first, int64_t size) {
  const auto begin = candidates.begin() + first;
  const auto kept = std::min<std::ptrdiff_t>(2 * size, candidates.end() - begin);
  std::partial_sort(begin, begin + kept, candidates.end(), is_better);
  candidates.erase(begin + kept, candidates.end());
  for (std::ptrdiff_t place = 0; place < kept; ++place) begin[place].is_among_best = place < size;
}

void search_beam(Outlook& outlook, Candidates& candidates) {
  offer_group(outlook, 0, candidates);
  keep_best(candidates, 0, outlook.sentence().group_size());
}

void end_all(Outlook& outlook, Candidates& candidates) {
  for (int h = 0; h < outlook.hypotheses(); ++h) {
    const TokenChoice choice = outlook.given(h, kEos);
    candidates.push_back({.score = outlook.score(h) + choice.log_probability,
                          .parent = h,
                          .lane = outlook.sentence().live[h].lane,
                          .choice = choice});
  }
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::score);
}

bool has_ended(const Sentence& s, const Candidates& candidates) {
  const SearchOptions& o = s.options();
  const auto finished = static_cast<int64_t>(s.finished.size());
  if (s.length >= s.max_length) return true;
  if (o.sampling.is_on || o.stop == Stop::full) return finished == o.beam;
  if (finished < o.n_best) return false;
  if (o.stop == Stop::first) return true;
  std::vector<double> scores;
  for (const auto& hypothesis : s.finished) scores.push_back(hypothesis.score);
  std::ranges::nth_element(scores, scores.begin() + o.n_best - 1, std::greater<>());
  return scores[o.n_best - 1] >= best_possible(s, candidates);
}

bool comes_too_late(const Sentence& s, int64_t group, double score) {
  return s.is_full(group) && (s.options().stop != Stop::bound || score <= worst(s).score);
}

void accept(Sentence& s, int64_t group, Hypothesis hypothesis) {
  if (s.is_full(group)) {
    worst(s) = std::move(hypothesis);
  } else {
    s.finished.push_back(std::move(hypothesis));
    ++s.ended[group];
  }
}

std::vector<Hypothesis> take_best(Sentence& s) {
  std::ranges::stable_sort(s.finished, std::greater<>(), &Hypothesis::score);
  if (s.options().alternatives && !s.request.phrases) keep_best_of_each(s);
  if (static_cast<int64_t>(s.finished.size()) > s.options().n_best) {
    s.finished.resize(s.options().n_best);
  }
  return std::move(s.finished);
}

}  // namespace residual::decode
