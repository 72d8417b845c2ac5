#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "metrics/bleu.h"
#include "study/outcome.h"
#include "study/plan.h"
#include "text/lines.h"

// The test sets of a study, a run's translations of them, and the run's results.
namespace residual::study {

struct TestSet {
  std::string name;            // title of its column: "2014", or "en-de"
  std::string source, target;  // languages; empty: the model's only ones
  // References are in BLEU's form. A language model's sources are documents, without references.
  metrics::Lines sources, references;
  double length_penalty = 1;
  metrics::BleuOptions bleu;
  text::LineTransform to_words;  // runs before BLEU's tokeniser; may be empty

  metrics::Lines scored(metrics::Lines translations) const;  // in BLEU's form
};

// Returns the test sets of the plan, or, if it names none, every test corpus of the prepared
// directory. A corpus of lower-cased text is scored without case.
std::vector<TestSet> load_tests(const Plan& plan, const fs::path& corpus);
// The same for the models of a cell: language models are scored on the text of the corpus's tests,
// masked models on none.
std::vector<TestSet> load_tests(const Plan& plan, const run::TrainConfig& cell);

struct TestScore {
  std::string test;
  double bleu = 0;
  std::string checksum;   // of the translations; empty in results of older versions
  double perplexity = 0;  // of a language model, per token; otherwise 0

  double value() const { return perplexity > 0 ? perplexity : bleu; }
};

// The content of DIR/results/PLAN/NAME.toml, the result of a finished cell.
struct Result {
  // Checksums of configuration and evaluation, and of the prepared corpus and the plan's test
  // texts. A change of either makes the result stale.
  std::string made_from, corpus;
  int64_t updates = 0;
  double seconds = 0;  // training time
  bool converged = false;
  std::string reason;
  double dev_nll = 0, unigram = 0;  // bits per token
  std::vector<TestScore> scores;    // empty: there was no model to score
  std::string signature;

  double mean() const;  // of the scores' values; NaN if there are none
};
void fields(ConfigVisitor& visit, TestScore& score);
void fields(ConfigVisitor& visit, Result& result);

// The fingerprint of the keys that affect the result and differ from their defaults. A key that a
// later version adds therefore does not make a result stale.
std::string fingerprint(const Plan& plan, const Cell& cell);
std::string corpus_fingerprint(const Plan& plan, const fs::path& corpus);  // "": a text is missing

// Translates every test set with the weights that the plan selects, and writes the lines to
// DIR/results/PLAN/NAME.TEST.txt. A language model scores its texts, and writes none.
std::vector<TestScore> translate_tests(const Plan& plan, const std::vector<TestSet>& tests,
                                       const fs::path& run, const fs::path& translations_stem);

fs::path translation_file(const fs::path& stem, const std::string& test);

void write_result(const fs::path& file, const Result& result);
// Throws an Error if the file was damaged.
Result read_result(const fs::path& file);
// Throws an Error if the translations of a test set are not those that were scored.
void check_translations(const fs::path& stem, const TestScore& score);

}  // namespace residual::study
