#include "metrics/chrf.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/parallel.h"
#include "metrics/ngrams.h"
#include "metrics/words.h"
#include "text/unicode.h"
#include "text/whitespace.h"

namespace residual::metrics {
namespace {

constexpr int64_t kGrain = 32;

// Real is double, or float to round as NumPy does in sacreBLEU's bootstrap.
template <class Real>
Real f_score(const ChrfOptions& options, std::span<const Real> counts) {
  constexpr Real kEps = static_cast<Real>(1e-16);
  const auto factor = static_cast<Real>(options.beta * options.beta);
  const int orders = options.char_order + options.word_order;
  Real sum = 0, precision = 0, recall = 0;
  int effective = 0;
  for (size_t n = 0; n < static_cast<size_t>(orders); ++n) {
    const Real hypothesis = counts[3 * n], reference = counts[3 * n + 1], match = counts[3 * n + 2];
    const Real p = hypothesis > 0 ? match / hypothesis : kEps;
    const Real r = reference > 0 ? match / reference : kEps;
    const Real denominator = factor * p + r;
    sum += denominator > 0 ? (1 + factor) * p * r / denominator : kEps;
    if (hypothesis > 0 && reference > 0) {
      precision += p;
      recall += r;
      ++effective;
    }
  }
  if (options.eps_smoothing) return 100 * sum / static_cast<Real>(orders);
  if (effective == 0) return 0;
  precision /= static_cast<Real>(effective);
  recall /= static_cast<Real>(effective);
  if (precision + recall == 0) return 0;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

// One punctuation mark is cut off each word: the last character if it is one, else the first.
void cut_punctuation(const std::vector<std::string_view>& words,
                     std::vector<std::string_view>& out) {
  out.clear();
  for (const auto word : words) {
    size_t first = 0;
    text::next_code_point(word, first);
    if (first == word.size()) {
      out.push_back(word);
    } else if (is_ascii_punctuation(word.back())) {
      out.push_back(word.substr(0, word.size() - 1));
      out.push_back(word.substr(word.size() - 1));
    } else if (is_ascii_punctuation(word.front())) {
      out.push_back(word.substr(0, 1));
      out.push_back(word.substr(1));
    } else {
      out.push_back(word);
    }
  }
}

// A line's characters and words, as units of n-grams.
struct Units {
  std::string text;
  std::vector<uint32_t> characters, words;
};

class SentenceCounter {
 public:
  explicit SentenceCounter(const ChrfOptions& options)
      : options_(options),
        character_matches_(static_cast<size_t>(options.char_order)),
        word_matches_(static_cast<size_t>(options.word_order)) {}

  void count(const std::string& hypothesis, const References& references, size_t line,
             std::span<double> row) {
    numbers_.clear();
    read(hypothesis, hypothesis_);
    double best = -1;
    candidate_.resize(row.size());
    for (const Lines& reference : references) {
      read(reference[line], reference_);
      compare();
      const auto score = f_score<double>(options_, candidate_);
      if (score > best) {
        best = score;
        std::copy(candidate_.begin(), candidate_.end(), row.begin());
      }
    }
  }

 private:
  void read(const std::string& line, Units& units) {
    units.text = options_.lowercase ? lower(text::without_trailing_whitespace(line))
                                    : text::without_trailing_whitespace(line);
    text::split_tokens(units.text, words_);
    units.characters.clear();
    const auto add_characters = [&](std::string_view text) {
      for (size_t at = 0; at < text.size();) {
        units.characters.push_back(static_cast<uint32_t>(text::next_code_point(text, at)));
      }
    };
    if (options_.whitespace) {
      add_characters(units.text);
    } else {
      for (const auto word : words_) add_characters(word);
    }
    units.words.clear();
    if (options_.word_order == 0) return;
    cut_punctuation(words_, pieces_);
    // Words of a reference that the hypothesis lacks share one number, which matches nothing.
    const bool is_reference = &units == &reference_;
    for (const auto piece : pieces_) {
      units.words.push_back(is_reference ? numbers_.find(piece) : numbers_.add(piece));
    }
  }

  void compare() {
    size_t at = 0;
    const auto compare_units = [&](const std::vector<uint32_t>& hypothesis,
                                   const std::vector<uint32_t>& reference,
                                   std::vector<int64_t>& matches) {
      index_.clear();
      index_.add(reference, static_cast<int>(matches.size()));
      index_.match(hypothesis, matches);
      for (size_t n = 0; n < matches.size(); ++n) {
        const int64_t expected = ngram_count(reference.size(), n + 1);
        // Orders the reference does not have are not held against the hypothesis.
        const int64_t made = expected > 0 ? ngram_count(hypothesis.size(), n + 1) : 0;
        candidate_[at++] = static_cast<double>(made);
        candidate_[at++] = static_cast<double>(expected);
        candidate_[at++] = static_cast<double>(matches[n]);
      }
    };
    compare_units(hypothesis_.characters, reference_.characters, character_matches_);
    compare_units(hypothesis_.words, reference_.words, word_matches_);
  }

  const ChrfOptions& options_;
  std::vector<int64_t> character_matches_, word_matches_;
  WordNumbers numbers_;
  NgramIndex index_;
  Units hypothesis_, reference_;
  std::vector<std::string_view> words_, pieces_;
  std::vector<double> candidate_;
};

}  // namespace

Chrf::Chrf(ChrfOptions options) : options_(options) {
  require(options_.char_order >= 0 && options_.word_order >= 0 &&
              options_.char_order + options_.word_order >= 1,
          "chrF needs n-gram orders of 0 or more, not both 0; got {} for characters, {} for words",
          options_.char_order, options_.word_order);
}

std::string Chrf::name() const {
  return fmt::format("chrF{}", options_.beta) +
         std::string(static_cast<size_t>(options_.word_order), '+');
}

Statistics Chrf::statistics(std::span<const std::string> hypotheses,
                            const References& references) const {
  require_parallel(hypotheses, references);
  const int orders = options_.char_order + options_.word_order;
  Statistics statistics(hypotheses.size(), size_t{3} * static_cast<size_t>(orders));
  parallel_for(static_cast<int64_t>(hypotheses.size()), kGrain, [&](int64_t begin, int64_t end) {
    SentenceCounter counter(options_);
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      counter.count(hypotheses[i], references, i, statistics.row(i));
    }
  });
  return statistics;
}

double Chrf::score(std::span<const double> sums) const { return f_score<double>(options_, sums); }
double Chrf::score(std::span<const float> sums) const {
  return static_cast<double>(f_score<float>(options_, sums));
}

Signature Chrf::signature(size_t references, const Trials& trials) const {
  return make_signature(references, trials,
                        {{"case", "c", options_.lowercase ? "lc" : "mixed"},
                         {"eff", "e", options_.eps_smoothing ? "no" : "yes"},
                         {"nc", "nc", fmt::to_string(options_.char_order)},
                         {"nw", "nw", fmt::to_string(options_.word_order)},
                         {"space", "s", options_.whitespace ? "yes" : "no"}});
}

double corpus_chrf(std::span<const std::string> hypotheses, const References& references,
                   const ChrfOptions& options) {
  const Chrf metric(options);
  return metric.score(metric.statistics(hypotheses, references).sum());
}

}  // namespace residual::metrics
