#include "metrics/ter.h"

#include <algorithm>

#include "base/parallel.h"
#include "metrics/edits.h"
#include "metrics/ngrams.h"
#include "text/whitespace.h"

namespace residual::metrics {
namespace {

constexpr int64_t kGrain = 8;

template <class Real>
Real ratio(std::span<const Real> sums) {
  const Real edits = sums[0], length = sums[1];
  if (length > 0) return 100 * (edits / length);
  return edits > 0 ? Real{100} : Real{0};
}

class SentenceCounter {
 public:
  explicit SentenceCounter(const TerOptions& options) : options_(options) {}

  void count(const std::string& hypothesis, const References& references, size_t line,
             std::span<double> row) {
    numbers_.clear();
    texts_.resize(references.size() + 1);  // kept: numbers_ refers to them
    texts_[0] = tercom_tokenize(options_, text::without_trailing_whitespace(hypothesis));
    number(texts_[0], hypothesis_);
    int64_t best = INT64_MAX;
    size_t lengths = 0;
    for (size_t r = 0; r < references.size(); ++r) {
      // Twice, as sacreBLEU does: normalising "it's\u00A0so" separates 's only the second time.
      const std::string once =
          tercom_tokenize(options_, text::without_trailing_whitespace(references[r][line]));
      texts_[r + 1] = tercom_tokenize(options_, once);
      number(texts_[r + 1], reference_);
      best = std::min(best, translation_edits(hypothesis_, reference_));
      lengths += reference_.size();
    }
    row[0] = static_cast<double>(best);
    row[1] = static_cast<double>(lengths) / static_cast<double>(references.size());
  }

 private:
  void number(const std::string& text, std::vector<uint32_t>& units) {
    text::split_tokens(text, words_);
    units.clear();
    for (const auto word : words_) units.push_back(numbers_.add(word));
  }

  const TerOptions& options_;
  WordNumbers numbers_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> words_;
  std::vector<uint32_t> hypothesis_, reference_;
};

}  // namespace

Statistics Ter::statistics(std::span<const std::string> hypotheses,
                           const References& references) const {
  require_parallel(hypotheses, references);
  Statistics statistics(hypotheses.size(), 2);
  parallel_for(static_cast<int64_t>(hypotheses.size()), kGrain, [&](int64_t begin, int64_t end) {
    SentenceCounter counter(options_);
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      counter.count(hypotheses[i], references, i, statistics.row(i));
    }
  });
  return statistics;
}

double Ter::score(std::span<const double> sums) const { return ratio(sums); }
double Ter::score(std::span<const float> sums) const { return static_cast<double>(ratio(sums)); }

Signature Ter::signature(size_t references, const Trials& trials) const {
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  return make_signature(references, trials,
                        {{"case", "c", options_.case_sensitive ? "mixed" : "lc"},
                         {"tok", "t", "tercom"},
                         {"norm", "nr", yes(options_.normalized)},
                         {"punct", "pn", yes(!options_.no_punct)},
                         {"asian", "as", yes(options_.asian_support)}});
}

double corpus_ter(std::span<const std::string> hypotheses, const References& references,
                  const TerOptions& options) {
  const Ter metric(options);
  return metric.score(metric.statistics(hypotheses, references).sum());
}

}  // namespace residual::metrics
