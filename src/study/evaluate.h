#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "metrics/bleu.h"
#include "study/outcome.h"
#include "study/plan.h"
#include "text/lines.h"

// The test sets of a study, their translations by a run, and what was found about it.
namespace residual::study {

struct TestSet {
  std::string name;                    // of its column: "2014", or "en-de"
  std::string source, target;          // languages; empty: the model's only ones
  metrics::Lines sources, references;  // references: as BLEU takes them
  double length_penalty = 1;
  metrics::BleuOptions bleu;
  text::LineTransform to_words;  // comes before BLEU's own tokeniser; may be empty

  metrics::Lines scored(metrics::Lines translations) const;  // as BLEU takes them
};

// Those of the plan, or, if it names none, every test corpus of the prepared directory. A corpus
// of lower-cased text is scored without case.
std::vector<TestSet> load_tests(const Plan& plan, const fs::path& corpus);

struct TestScore {
  std::string test;
  double bleu = 0;
};

// DIR/results/PLAN/NAME.toml: a cell that needs no more work.
struct Result {
  // Checksums of configuration and evaluation, and of the prepared corpus and the plan's own test
  // texts: a change of either makes it stale.
  std::string made_from, corpus;
  int64_t updates = 0;
  double seconds = 0;  // of training
  bool converged = false;
  std::string reason;
  double dev_nll = 0, unigram = 0;  // bits per token
  std::vector<TestScore> scores;    // none: there was no model to score
  std::string signature;

  double mean_bleu() const;  // over the test sets; NaN without any
};
void fields(ConfigVisitor& visit, TestScore& score);
void fields(ConfigVisitor& visit, Result& result);

// Of the keys that decide the result and are not as by default: a key that a later version adds
// makes no result stale.
std::string fingerprint(const Plan& plan, const Cell& cell);
std::string corpus_fingerprint(const Plan& plan, const fs::path& corpus);  // "": text is not there

// Translates every test set with the weights that the plan chooses, and writes the lines to
// DIR/results/PLAN/NAME.TEST.txt.
std::vector<TestScore> translate_tests(const Plan& plan, const std::vector<TestSet>& tests,
                                       const fs::path& run, const fs::path& translations_stem);

fs::path translation_file(const fs::path& stem, const TestSet& test);

}  // namespace residual::study
