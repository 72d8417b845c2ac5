#include "decode/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/vocabulary.h"

namespace residual::decode {

void check_sampling(const Sampling& s, const Sampling& usual) {
  const bool is_usual = s.top_k == usual.top_k && s.top_p == usual.top_p &&
                        s.temperature == usual.temperature && s.seed == usual.seed;
  require(s.is_on || is_usual,
          "sampling.top_k, top_p, temperature and seed have an effect with sampling.is_on only");
}

void check(const SearchOptions& o, const NameOfKey& name) {
  static_assert(2 * kWidestBeam + 3 <= kernels::kMostBest);  // 2 candidates each, 3 forbidden ids
  check_ranges(o, name);
  require(o.n_best <= o.beam, "{} is {}, but a beam of {} gives from 1 to {} translations",
          name("n_best"), o.n_best, o.beam, o.beam);
  require(o.max_length_factor > 0 || o.min_length <= 1 ||
              static_cast<double>(o.min_length) <= o.max_length_offset,
          "{} is {}, but a translation has {} tokens at most", name("min_length"), o.min_length,
          o.max_length_offset);
  require(o.beam % o.diverse_groups == 0,
          "{}: a beam of {} cannot be divided into {} groups of one size", name("diverse_groups"),
          o.beam, o.diverse_groups);
  require(!o.alternatives || o.beam % o.n_best == 0,
          "{}: a beam of {} cannot be shared by {} translations; {} could be", name("alternatives"),
          o.beam, o.n_best, (o.beam + o.n_best - 1) / o.n_best * o.n_best);
  const std::string full = fmt::format("{} must be full", name("stop"));
  require(!o.alternatives || (o.diverse_groups == 1 && !o.sampling.is_on && o.stop == Stop::full),
          "{} needs beam search without {}, and {}", name("alternatives"), name("diverse_groups"),
          full);
  require(o.diverse_groups == 1 || (!o.sampling.is_on && o.stop == Stop::full),
          "{} needs beam search; each group ends separately, so {}", name("diverse_groups"), full);
  require(!o.sampling.is_on || o.stop == Stop::full,
          "{} is for beam search; each draw of {} ends separately", name("stop"),
          name("sampling.is_on"));
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
