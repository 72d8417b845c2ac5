#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>

#include "base/error.h"
#include "base/suggest.h"
#include "binding/bind.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/significance.h"
#include "metrics/ter.h"
#include "text/unicode.h"

namespace residual::python {
namespace {

using metrics::Metric;

// The names and defaults are those of sacreBLEU.
struct Bleu {
  metrics::BleuOptions options;
  double smooth_value = -1;
  int64_t max_ngram_order = 4;
};
struct Chrf {
  metrics::ChrfOptions options;
  int64_t char_order = 6, word_order = 0, beta = 2;
};
struct Ter {
  metrics::TerOptions options;
};

void fields(ConfigVisitor& visit, Bleu& o) {
  visit.choice("tokenize", o.options.tokenizer, "how lines are split into words");
  visit("lowercase", o.options.lowercase, "lower-case both sides");
  visit.choice("smooth_method", o.options.smoothing, "smoothing of orders without a match");
  visit("smooth_value", o.smooth_value, "for floor and add-k; -1: the method's own", {.min = -1});
  visit("max_ngram_order", o.max_ngram_order, "longest n-grams", {.min = 1, .max = 10});
  visit("effective_order", o.options.effective_order, "skip orders longer than the hypothesis");
}

void fields(ConfigVisitor& visit, Chrf& o) {
  visit("char_order", o.char_order, "longest n-grams of characters", {.min = 1, .max = 10});
  visit("word_order", o.word_order, "longest n-grams of words", {.min = 0, .max = 10});
  visit("beta", o.beta, "recall counts this times as much as precision", {.min = 1, .max = 100});
  visit("lowercase", o.options.lowercase, "lower-case both sides");
  visit("whitespace", o.options.whitespace, "count white space as characters");
  visit("eps_smoothing", o.options.eps_smoothing, "as chrF++.py, Moses and NLTK");
}

void fields(ConfigVisitor& visit, Ter& o) {
  visit("normalized", o.options.normalized, "separate punctuation, undo XML escapes");
  visit("no_punct", o.options.no_punct, "drop punctuation");
  visit("asian_support", o.options.asian_support, "treat Chinese and Japanese too");
  visit("case_sensitive", o.options.case_sensitive, "do not lower-case");
}

std::unique_ptr<Metric> make(Bleu o) {
  if (o.smooth_value >= 0) o.options.smoothing_value = o.smooth_value;
  o.options.max_order = static_cast<int>(o.max_ngram_order);
  return std::make_unique<metrics::Bleu>(o.options);
}
std::unique_ptr<Metric> make(Chrf o) {
  o.options.char_order = static_cast<int>(o.char_order);
  o.options.word_order = static_cast<int>(o.word_order);
  o.options.beta = static_cast<int>(o.beta);
  return std::make_unique<metrics::Chrf>(o.options);
}
std::unique_ptr<Metric> make(const Ter& o) { return std::make_unique<metrics::Ter>(o.options); }

template <class Wanted>
std::unique_ptr<Metric> read(const std::string& json, Wanted wanted = {}) {
  read_options(json, wanted);
  return make(wanted);
}

std::unique_ptr<Metric> make_metric(const std::string& name, const std::string& options,
                                    bool by_sentence) {
  if (name == "bleu") return read(options, Bleu{.options = {.effective_order = by_sentence}});
  if (name == "chrf") return read<Chrf>(options);
  if (name == "chrf++") return read(options, Chrf{.word_order = 2});
  if (name == "ter") return read<Ter>(options);
  const std::vector<std::string> known = {"bleu", "chrf", "chrf++", "ter"};
  fail("unknown metric \"{}\"{}", name, suggestion(name, known));
}

struct Score {
  std::string name, details, signature;
  double score;
  std::optional<std::pair<double, double>> confidence;
};

void check_utf8(const metrics::Lines& lines, const char* side) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t bad = text::find_invalid_utf8(lines[i]);
    require(bad == std::string::npos, "{}[{}]: byte {} is not valid UTF-8", side, i, bad + 1);
  }
}

std::vector<Score> score(const metrics::Lines& hypotheses, const metrics::References& references,
                         const std::string& name, bool by_sentence, int64_t samples,
                         const std::string& options) {
  check_utf8(hypotheses, "hypotheses");
  for (const auto& reference : references) check_utf8(reference, "references");
  require(!by_sentence || samples == 0, "confidence: not for single sentences");
  const auto metric = make_metric(name, options, by_sentence);
  metrics::require_parallel(hypotheses, references);
  const metrics::Statistics statistics = metric->statistics(hypotheses, references);
  const metrics::Trials trials{.bootstrap = samples, .seed = metrics::kDefaultSeed};
  const std::string signature =
      metric->signature(references.size(), samples > 0 ? trials : metrics::Trials{}).text();
  std::vector<Score> scores;
  const auto add = [&](std::span<const double> sums) {
    scores.push_back({metric->name(), metric->details(sums), signature, metric->score(sums), {}});
  };
  if (by_sentence) {
    for (size_t i = 0; i < statistics.rows(); ++i) add(statistics.row(i));
    return scores;
  }
  add(statistics.sum());
  if (samples > 0) {
    const auto interval = metrics::confidence_interval(
        metrics::bootstrap_scores(*metric, statistics, samples, trials.seed),
        metric->scores_in_float(), metrics::Averaging::exact);
    scores[0].confidence = {interval.mean, interval.half_width};
  }
  return scores;
}

}  // namespace

void bind_metrics(nb::module_& m) {
  nb::class_<Score>(m, "Score", "A score, with what sacreBLEU prints beside it.")
      .def_ro("score", &Score::score)
      .def_ro("name", &Score::name)
      .def_ro("details", &Score::details)
      .def_ro("signature", &Score::signature)
      .def_ro("confidence", &Score::confidence,
              "mean and half the width of the 95 % interval, or None")
      .def("__float__", [](const Score& s) { return s.score; })
      .def("__repr__", [](const Score& s) {
        const std::string details = s.details.empty() ? "" : " " + s.details;
        return nb::str("{}|{} = {:.1f}{}").format(s.name, s.signature, s.score, details);
      });
  m.def("score", &score, nb::arg("hypotheses"), nb::arg("references"), nb::arg("metric"),
        nb::arg("sentence_level"), nb::arg("confidence"), nb::arg("options"),
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace residual::python
