#include "decode/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/vocabulary.h"

namespace residual::decode {
namespace {

constexpr double kColdest = 1e-4;        // temperature
constexpr double kHighestPenalty = 100;  // of repetition, coverage and likeness

}  // namespace

void fields(ConfigVisitor& visit, Sampling& s) {
  visit("is_on", s.is_on, "draw tokens at random instead of taking the likeliest");
  visit("top_k", s.top_k, "only from the k likeliest tokens; 0: all", {.min = 0});
  visit("top_p", s.top_p, "only from the fewest tokens whose probabilities sum to p",
        {.min = 0, .max = 1});
  visit("temperature", s.temperature, "divides logits before drawing", {.min = kColdest});
  visit("seed", s.seed, "of the random numbers");
}

void fields(ConfigVisitor& visit, SearchOptions& o) {
  visit("beam", o.beam, "hypotheses kept per sentence; 1: greedy", {.min = 1});
  visit("n_best", o.n_best, "translations given per sentence", {.min = 1});
  visit("length_penalty", o.length_penalty, "scores are divided by length to this power");
  visit("word_penalty", o.word_penalty, "subtracted from the log-probability for each token");
  visit("min_length", o.min_length, "tokens before </s>, at least", {.min = 0});
  visit("max_length_factor", o.max_length_factor,
        "at most factor * source length + offset tokens before </s>", {.min = 0});
  visit("max_length_offset", o.max_length_offset, "see max_length_factor", {.min = 0});
  visit.choice("stop", o.stop, {"full", "bound", "first"},
               "when a search ends: all of the beam ended, none can improve, n_best ended");
  visit("diverse_groups", o.diverse_groups,
        "groups of the beam that are kept from choosing the same tokens; 1: none", {.min = 1});
  visit("diverse_strength", o.diverse_strength,
        "what a token costs each time that a group before has chosen it in the same step",
        {.min = 0});
  visit("alternatives", o.alternatives,
        "translations that go on differently after the prefix, each with its share of the beam");
  visit("no_repeat_ngram", o.no_repeat_ngram, "no n tokens in a row come twice; 0: they may",
        {.min = 0});
  visit("repetition_penalty", o.repetition_penalty,
        "divides logits of tokens that are there already, multiplies negative ones; 1: no effect");
  visit("coverage_penalty", o.coverage_penalty,
        "weight of the logarithms of attention that the source's tokens got, up to 1 each",
        {.min = 0});
  visit("unk_penalty", o.unk_penalty, "subtracted from the log-probability of <unk>");
  visit("forbid_unk", o.forbid_unk, "never give <unk>");
  visit("replace_unk", o.replace_unk,
        "in texts, give the source's piece that <unk> attends to most instead of it");
  visit.table("sampling", o.sampling, "draw tokens at random");
  visit("with_attention", o.with_attention, "also give each token's attention to the source");
  visit("attention_layer", o.attention_layer, "decoder layer it is taken from, 0: the last",
        {.min = 0});
}

void check_sampling(const Sampling& s, const Sampling& usual) {
  const bool is_usual = s.top_k == usual.top_k && s.top_p == usual.top_p &&
                        s.temperature == usual.temperature && s.seed == usual.seed;
  require(s.is_on || is_usual,
          "sampling.top_k, top_p, temperature and seed have an effect with sampling.is_on only");
}

void check(const SearchOptions& o) {
  static_assert(2 * kWidestBeam + 3 <= kernels::kMostBest);  // 2 candidates each, 3 forbidden ids
  require(o.beam >= 1 && o.beam <= kWidestBeam, "beam must be from 1 to {}, is {}", kWidestBeam,
          o.beam);
  require(o.n_best >= 1 && o.n_best <= o.beam,
          "n_best is {}, but a beam of {} gives from 1 to {} translations", o.n_best, o.beam,
          o.beam);
  const auto require_finite = [](double value, const char* name) {
    require(std::isfinite(value), "{} must be a finite number, is {}", name, value);
  };
  const auto require_within = [](double value, double most, const char* name) {
    require(std::abs(value) <= most, "{} must be from {} to {}, is {}", name, -most, most, value);
  };
  require_within(o.length_penalty, 100, "length_penalty");  // scores stay numbers
  require_within(o.word_penalty, 1e6, "word_penalty");
  require_within(o.unk_penalty, 1e6, "unk_penalty");
  require(o.coverage_penalty >= 0 && o.coverage_penalty <= kHighestPenalty,
          "coverage_penalty must be from 0 to {}, is {}", kHighestPenalty, o.coverage_penalty);
  require(o.repetition_penalty >= 1 / kHighestPenalty && o.repetition_penalty <= kHighestPenalty,
          "repetition_penalty must be from {} to {}, is {}", 1 / kHighestPenalty, kHighestPenalty,
          o.repetition_penalty);
  require_finite(o.max_length_factor, "max_length_factor");
  require_finite(o.max_length_offset, "max_length_offset");
  require(o.max_length_factor > 0 || o.min_length <= 1 ||
              static_cast<double>(o.min_length) <= o.max_length_offset,
          "min_length is {}, but a translation has {} tokens at most", o.min_length,
          o.max_length_offset);
  require_finite(o.sampling.temperature, "temperature");
  require(o.sampling.temperature >= kColdest, "temperature must be at least {}, is {}", kColdest,
          o.sampling.temperature);
  require(o.sampling.top_p > 0 && o.sampling.top_p <= 1, "top_p must be in (0, 1], is {}",
          o.sampling.top_p);
  require(o.diverse_groups >= 1 && o.beam % o.diverse_groups == 0,
          "a beam of {} has no {} groups of one size", o.beam, o.diverse_groups);
  require(!o.alternatives || o.beam % o.n_best == 0,
          "alternatives: a beam of {} cannot be shared by {} translations; {} could be", o.beam,
          o.n_best, (o.beam + o.n_best - 1) / o.n_best * o.n_best);
  require(!o.alternatives || (o.diverse_groups == 1 && !o.sampling.is_on && o.stop == Stop::full),
          "alternatives are found by beam search without diverse_groups, and stop must be full");
  require(o.diverse_strength >= 0 && o.diverse_strength <= kHighestPenalty,
          "diverse_strength must be from 0 to {}, is {}", kHighestPenalty, o.diverse_strength);
  require(o.diverse_groups == 1 || (!o.sampling.is_on && o.stop == Stop::full),
          "diverse_groups is for beam search; each group ends for itself, so stop must be full");
  require(!o.sampling.is_on || o.stop == Stop::full,
          "stop: is for beam search; draws end each for itself");
}

double normalised(const SearchOptions& o, double sum, int64_t length) {
  const auto n = static_cast<double>(length);
  return (sum - o.word_penalty * n) / std::pow(n, o.length_penalty);
}

double coverage_term(const SearchOptions& o, std::span<const std::vector<float>> attention) {
  if (o.coverage_penalty == 0 || attention.empty()) return 0;
  double sum = 0;
  for (size_t s = 0; s < attention[0].size(); ++s) {
    double got = std::numeric_limits<float>::min();  // so that it has a logarithm
    for (const auto& row : attention) got += row[s];
    sum += std::log(std::min(got, 1.0));
  }
  return o.coverage_penalty * sum;
}

}  // namespace residual::decode
