#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/config.h"
#include "base/error.h"
#include "base/parallel.h"
#include "metrics/ngrams.h"
#include "metrics/words.h"
#include "text/whitespace.h"

namespace residual::metrics {
namespace {

constexpr int64_t kGrain = 64;
constexpr double kLogZero = -9999999999;  // sacreBLEU's and multi-bleu's logarithm of nothing

double default_value(Smoothing smoothing) { return smoothing == Smoothing::floor ? 0.1 : 1.0; }

double log_or_floor(double x) { return x == 0 ? kLogZero : std::log(x); }

// One sentence at a time; tables and buffers are kept between them.
class SentenceCounter {
 public:
  SentenceCounter(int max_order, const WordsOf& words_of)
      : max_order_(max_order), matches_(static_cast<size_t>(max_order)), words_of_(words_of) {}

  void count(const std::string& hypothesis, const References& references, size_t line,
             std::span<double> row) {
    numbers_.clear();
    index_.clear();
    buffers_.resize(references.size());
    lengths_.clear();
    for (size_t r = 0; r < references.size(); ++r) {
      words_of_(references[r][line], true, buffers_[r], words_);
      units_.clear();
      for (const auto word : words_) units_.push_back(numbers_.add(word));
      index_.add(units_, max_order_);
      lengths_.push_back(static_cast<int64_t>(words_.size()));
    }
    words_of_(hypothesis, false, buffer_, words_);
    units_.clear();
    for (const auto word : words_) units_.push_back(numbers_.find(word));
    index_.match(units_, matches_);

    row[0] = static_cast<double>(words_.size());
    row[1] = static_cast<double>(closest_length());
    const size_t orders = matches_.size();
    for (size_t n = 0; n < orders; ++n) {
      row[2 + n] = static_cast<double>(matches_[n]);
      row[2 + orders + n] = static_cast<double>(ngram_count(words_.size(), n + 1));
    }
  }

 private:
  // Of two equally close, the shorter.
  int64_t closest_length() const {
    const auto length = static_cast<int64_t>(words_.size());
    return *std::min_element(lengths_.begin(), lengths_.end(), [&](int64_t a, int64_t b) {
      return std::pair(std::abs(a - length), a) < std::pair(std::abs(b - length), b);
    });
  }

  int max_order_;
  std::vector<int64_t> matches_;
  const WordsOf& words_of_;
  WordNumbers numbers_;
  NgramIndex index_;
  std::string buffer_;
  std::vector<std::string> buffers_;  // the references' words must outlive the hypothesis' look-up
  std::vector<std::string_view> words_;
  std::vector<uint32_t> units_;
  std::vector<int64_t> lengths_;
};

// Real is double, or float to round as NumPy does in sacreBLEU's bootstrap.
template <class Real>
BleuScore compute(const BleuOptions& options, std::span<const Real> sums) {
  const auto orders = static_cast<size_t>(options.max_order);
  const double value = options.smoothing_value.value_or(default_value(options.smoothing));
  BleuScore result;
  result.hypothesis_length = static_cast<int64_t>(sums[0]);
  result.reference_length = static_cast<int64_t>(sums[1]);
  const auto hypothesis = static_cast<double>(result.hypothesis_length);
  const auto reference = static_cast<double>(result.reference_length);
  if (hypothesis < reference) {
    result.brevity_penalty = hypothesis > 0 ? std::exp(1 - reference / hypothesis) : 0;
  }
  std::vector<Real> counts(sums.begin() + 2, sums.begin() + 2 + static_cast<ptrdiff_t>(orders));
  std::vector<Real> totals(sums.begin() + 2 + static_cast<ptrdiff_t>(orders), sums.end());
  std::vector<Real> precisions(orders);

  if (std::any_of(counts.begin(), counts.end(), [](Real c) { return c != 0; })) {
    Real halves = 1;
    size_t effective = orders;
    for (size_t n = 0; n < orders; ++n) {
      if (options.smoothing == Smoothing::add_k && n > 0) {
        counts[n] += static_cast<Real>(value);
        totals[n] += static_cast<Real>(value);
      }
      if (totals[n] == 0) break;
      if (options.effective_order) effective = n + 1;
      if (counts[n] != 0) {
        precisions[n] = 100 * counts[n] / totals[n];
      } else if (options.smoothing == Smoothing::doubled) {
        halves *= 2;
        precisions[n] = 100 / (halves * totals[n]);
      } else if (options.smoothing == Smoothing::floor) {
        precisions[n] = static_cast<Real>(100 * value) / totals[n];
      }
    }
    double logs = 0;
    for (size_t n = 0; n < effective; ++n) logs += log_or_floor(static_cast<double>(precisions[n]));
    result.score = result.brevity_penalty * std::exp(logs / static_cast<double>(effective));
  }
  result.counts.assign(counts.begin(), counts.end());
  result.totals.assign(totals.begin(), totals.end());
  result.precisions.assign(precisions.begin(), precisions.end());
  return result;
}

}  // namespace

double BleuScore::ratio() const {
  return reference_length > 0
             ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length)
             : 0;
}

std::string BleuScore::details() const {
  std::string text;
  for (const double p : precisions) text += fmt::format("{}{:.1f}", text.empty() ? "" : "/", p);
  return text + fmt::format(" (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                            brevity_penalty, ratio(), hypothesis_length, reference_length);
}

std::string BleuScore::text(int width) const {
  return fmt::format("BLEU = {:.{}f} {}", score, width, details());
}

Statistics bleu_statistics(std::span<const std::string> hypotheses, const References& references,
                           int max_order, const WordsOf& words_of) {
  require_parallel(hypotheses, references);
  Statistics statistics(hypotheses.size(), 2 + 2 * static_cast<size_t>(max_order));
  parallel_for(static_cast<int64_t>(hypotheses.size()), kGrain, [&](int64_t begin, int64_t end) {
    SentenceCounter counter(max_order, words_of);
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      counter.count(hypotheses[i], references, i, statistics.row(i));
    }
  });
  return statistics;
}

Bleu::Bleu(BleuOptions options) : options_(options) {
  require(options_.max_order >= 1, "the highest n-gram order of BLEU must be 1 or more, not {}",
          options_.max_order);
}

Statistics Bleu::statistics(std::span<const std::string> hypotheses,
                            const References& references) const {
  return bleu_statistics(
      hypotheses, references, options_.max_order,
      [this](std::string_view line, bool /*is_reference*/, std::string& buffer,
             std::vector<std::string_view>& words) {
        if (options_.lowercase) {
          const std::string lowered = lower(line);
          buffer = tokenize(options_.tokenizer, text::without_trailing_whitespace(lowered));
        } else {
          buffer = tokenize(options_.tokenizer, text::without_trailing_whitespace(line));
        }
        text::split_tokens(buffer, words);
      });
}

BleuScore Bleu::bleu(std::span<const double> sums) const { return compute(options_, sums); }
double Bleu::score(std::span<const float> sums) const { return compute(options_, sums).score; }

Signature Bleu::signature(size_t references, const Trials& trials) const {
  std::string smoothing = name_of(options_.smoothing);
  if (options_.smoothing == Smoothing::floor || options_.smoothing == Smoothing::add_k) {
    smoothing += fmt::format("[{:.2f}]",
                             options_.smoothing_value.value_or(default_value(options_.smoothing)));
  }
  return make_signature(references, trials,
                        {{"case", "c", options_.lowercase ? "lc" : "mixed"},
                         {"eff", "e", options_.effective_order ? "yes" : "no"},
                         {"tok", "tok", name_of(options_.tokenizer)},
                         {"smooth", "s", smoothing}});
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses, const References& references,
                      const BleuOptions& options) {
  const Bleu metric(options);
  return metric.bleu(metric.statistics(hypotheses, references).sum());
}

BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options) {
  References streams;
  for (const auto& reference : references) streams.push_back({reference});
  return corpus_bleu(std::span(&hypothesis, 1), streams, options);
}

int64_t count_tokenized_ends(std::span<const std::string> lines) {
  return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return text::without_trailing_whitespace(line).ends_with(" .");
  });
}

}  // namespace residual::metrics
