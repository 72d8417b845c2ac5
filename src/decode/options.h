#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/config.h"

namespace residual::decode {

// When the search for one sentence ends.
//   full   as many hypotheses as the beam is wide have ended, as in fairseq
//   bound  no live hypothesis can still come among the n best: the same n best translations as an
//          endless search of this beam
//   first  n_best hypotheses have ended
enum class Stop { full, bound, first };

// Tokens drawn at random instead of the likeliest: `beam` independent draws per sentence. They are
// a function of the seed and the sentence's tokens alone.
struct Sampling {
  bool is_on = false;
  int64_t top_k = 0;       // only the k likeliest tokens; 0: all
  double top_p = 1;        // only the fewest tokens whose probabilities sum to p
  double temperature = 1;  // divides logits before drawing; scores remain the model's own
  int64_t seed = 1;
};

// The search. A hypothesis y_1 ... y_n (y_n = </s>) of a source of S tokens, </s> included, ends
// with the score
//
//   (sum_i log p(y_i | y_1 ... y_{i-1}, source) - word_penalty * n) / n^length_penalty
//     + coverage_penalty * sum_s log min(sum_i a_is, 1)
//
// where a_is is the attention of y_i to the source's token s. Marian calls length_penalty
// `normalize`; fairseq has no word penalty. With fairseq's values, the hypotheses and scores are
// fairseq's.
inline constexpr int64_t kWidestBeam = 62;
struct SearchOptions {
  int64_t beam = 5;  // 1: greedy
  int64_t n_best = 1;
  double length_penalty = 1;
  double word_penalty = 0;
  int64_t min_length = 1;         // tokens before </s>
  double max_length_factor = 2;   // at most int(factor * S + offset) tokens before </s>. S is the
  double max_length_offset = 10;  // sentence's own, where fairseq takes that of its batch's longest
  Stop stop = Stop::full;
  // Groups that a beam is made of. They choose their tokens in turn, and what those before have
  // chosen in the same step costs diverse_strength, each time, though not in scores: diverse beam
  // search (Vijayakumar et al. 2018). Each group ends for itself. 1: no groups.
  int64_t diverse_groups = 1;
  double diverse_strength = 0.5;
  // n_best translations that go on differently after the prefix: with its n_best likeliest next
  // tokens, each the best that a beam of beam / n_best finds from there.
  bool alternatives = false;
  int64_t no_repeat_ngram = 0;  // no n tokens in a row come twice; 0: they may
  // Logits of tokens that a hypothesis has already are divided by this if they are positive, else
  // multiplied, before they become probabilities.
  double repetition_penalty = 1;
  double coverage_penalty = 0;  // see above; for parts of the source that nobody attended to
  double unk_penalty = 0;       // subtracted from the log-probability of <unk>
  bool forbid_unk = false;
  bool replace_unk = false;  // in texts, by the piece of the source that it attends to most
  Sampling sampling;
  bool with_attention = false;
  int64_t attention_layer = 0;  // of the decoder, counted from the top

  int64_t groups() const { return alternatives ? n_best : diverse_groups; }
  bool gives_attention() const { return with_attention || replace_unk; }  // with hypotheses
  bool needs_attention() const { return gives_attention() || coverage_penalty > 0; }
};

void fields(ConfigVisitor& visit, Sampling& sampling);
void fields(ConfigVisitor& visit, SearchOptions& options);

// Fails unless the numbers fit each other.
void check(const SearchOptions& options);
// Fails if sampling is off, but any other setting of it is not the usual one.
void check_sampling(const Sampling& sampling, const Sampling& usual = {});

// The score of `length` tokens, </s> counted, whose log-probabilities have this sum, without its
// term for coverage.
double normalised(const SearchOptions& options, double sum, int64_t length);
// That term, for attention [tokens][source tokens]. Not above 0.
double coverage_term(const SearchOptions& options, std::span<const std::vector<float>> attention);

}  // namespace residual::decode
