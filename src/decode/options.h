#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
constexpr auto names(Stop) { return std::array{"full", "bound", "first"}; }

// Tokens drawn at random instead of the likeliest: `beam` independent draws per sentence. They are
// a function of the seed and the sentence's tokens alone. Scores remain those of the model.
struct Sampling {
  bool is_on = false;
  int64_t top_k = 0;
  double top_p = 1;
  double temperature = 1;
  int64_t seed = 1;
};

inline void fields(ConfigVisitor& visit, Sampling& s) {
  visit("is_on", s.is_on,
        "draw tokens at random; the width of the beam is the number of independent draws");
  visit("top_k", s.top_k, "draw only from the k likeliest tokens; 0: all", {.min = 0});
  visit("top_p", s.top_p, "draw only from the fewest tokens whose probabilities sum to p",
        {.min = 0, .max = 1, .above_min = true});
  visit("temperature", s.temperature, "divides logits before drawing", {.min = 1e-4});
  visit("seed", s.seed,
        "seed of the draws; the draws of a line depend only on the seed and the line");
}

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
  int64_t beam = 5;
  int64_t n_best = 1;
  double length_penalty = 1;
  double word_penalty = 0;
  int64_t min_length = 1;
  double max_length_factor = 2;   // of the sentence's own length, where fairseq takes that of the
  double max_length_offset = 10;  // longest in its batch; the limit is rounded down
  Stop stop = Stop::full;
  // The groups choose their tokens in turn, and a token that preceding groups chose in the same
  // step costs diverse_strength for each of them, though not in scores: diverse beam search
  // (Vijayakumar et al. 2018). Each group ends separately.
  int64_t diverse_groups = 1;
  double diverse_strength = 0.5;
  // The n_best likeliest next tokens each begin one translation: the best that a beam of
  // beam / n_best finds from there.
  bool alternatives = false;
  int64_t no_repeat_ngram = 0;
  double repetition_penalty = 1;  // applies before logits become probabilities
  double coverage_penalty = 0;
  double unk_penalty = 0;
  bool forbid_unk = false;
  bool replace_unk = false;
  Sampling sampling;
  bool with_attention = false;
  int64_t attention_layer = 0;

  int64_t groups() const { return alternatives ? n_best : diverse_groups; }
  bool gives_attention() const { return with_attention || replace_unk; }  // with hypotheses
  bool needs_attention() const { return gives_attention() || coverage_penalty > 0; }
};

// The one description of every search option. Flags, settings, requests, the OpenAPI document and
// the tables of the manual derive from it. The ranges keep scores finite.
inline void fields(ConfigVisitor& visit, SearchOptions& o) {
  visit("beam", o.beam, "hypotheses kept per sentence; 1: greedy", {.min = 1, .max = kWidestBeam});
  visit("n_best", o.n_best, "translations per sentence, with their scores; at most the beam",
        {.min = 1, .max = kWidestBeam});
  visit("length_penalty", o.length_penalty, "scores are divided by length to this power; 0: sums",
        {.min = -100, .max = 100});
  visit("word_penalty", o.word_penalty, "subtracted for each token before that division",
        {.min = -1e6, .max = 1e6});
  visit("min_length", o.min_length, "minimum tokens before </s>", {.min = 0});
  visit("max_length_factor", o.max_length_factor,
        "maximum tokens before </s>: this times the source tokens, plus the offset", {.min = 0});
  visit("max_length_offset", o.max_length_offset, "tokens added to that limit", {.min = 0});
  visit.choice("stop", o.stop,
               "when a search ends: full, as many hypotheses as the beam is wide have ended; "
               "bound, no live hypothesis can still enter the n best; first, n-best have ended");
  visit("diverse_groups", o.diverse_groups,
        "number of groups that the beam is divided into, for n-best lists that differ",
        {.min = 1, .max = kWidestBeam});
  visit("diverse_strength", o.diverse_strength,
        "cost of a token for each preceding group that chose it in the same step",
        {.min = 0, .max = 100});
  visit("alternatives", o.alternatives,
        "n-best translations that continue differently after the prefix, each with its share of "
        "the beam");
  visit("no_repeat_ngram", o.no_repeat_ngram, "never repeat n tokens in a row; 0: allow it",
        {.min = 0});
  visit("repetition_penalty", o.repetition_penalty,
        "divides the logits of tokens that the hypothesis already has; negative logits are "
        "multiplied",
        {.min = 0.01, .max = 100});
  visit("coverage_penalty", o.coverage_penalty,
        "weight in the score of the logarithms of the attention that the source tokens received, "
        "up to 1 each",
        {.min = 0, .max = 100});
  visit("unk_penalty", o.unk_penalty, "subtracted from the log-probability of <unk>",
        {.min = -1e6, .max = 1e6});
  visit("forbid_unk", o.forbid_unk, "never produce <unk>");
  visit("replace_unk", o.replace_unk,
        "in texts, replace <unk> by the source piece that it attends to most");
  visit.table("sampling", o.sampling, "draw tokens at random");
  visit("with_attention", o.with_attention,
        "also give the attention of each piece to the source pieces");
  visit("attention_layer", o.attention_layer,
        "decoder layer whose attention is taken, counted from the top, 0", {.min = 0});
}

// One number for the longest translation, instead of max_length_factor and max_length_offset.
inline constexpr const char* kMaxLength =
    "maximum tokens before </s>, for any length of the source, instead of factor and offset";
inline void limit_length(SearchOptions& options, int64_t tokens) {
  options.max_length_factor = 0;
  options.max_length_offset = static_cast<double>(tokens);
}

// Fails unless the numbers are in their ranges and fit each other. Errors call a key what
// `name_of_key` says.
void check(const SearchOptions& options, const NameOfKey& name_of_key = std::identity());
// Fails if sampling is off, but any other setting of it is not the usual one.
void check_sampling(const Sampling& sampling, const Sampling& usual = {});

// The score of `length` tokens, </s> counted, whose log-probabilities have this sum, without its
// term for coverage.
double normalised(const SearchOptions& options, double sum, int64_t length);
// That term, for attention [tokens][source tokens]. Not above 0.
double coverage_term(const SearchOptions& options, std::span<const std::vector<float>> attention);

}  // namespace residual::decode
