#include "study/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "metrics/read.h"
#include "metrics/significance.h"
#include "run/run_directory.h"
#include "study/paper.h"

namespace residual::study {
namespace {

constexpr double kSignificant = 0.05;

// BLEU's counts of every sentence of all test sets, concatenated.
metrics::Statistics statistics_of(const std::vector<TestSet>& tests, const metrics::Bleu& bleu,
                                  const Result& result, const fs::path& stem) {
  metrics::Lines translations, references;
  for (const auto& score : result.scores) check_translations(stem, score);
  for (const auto& test : tests) {
    const fs::path file = translation_file(stem, test.name);
    const auto lines = test.scored(metrics::read_lines(file, text::Invalid::refuse));
    require(lines.size() == test.references.size(),
            "{}: has {} lines, the reference of {} has {}; remove {}.toml, and `residual study` "
            "scores the run again",
            file.string(), lines.size(), test.name, test.references.size(), stem.string());
    translations.insert(translations.end(), lines.begin(), lines.end());
    references.insert(references.end(), test.references.begin(), test.references.end());
  }
  return bleu.statistics(translations, {references});
}

// Returns the baseline's finding for the comparison with a cell; nullptr if there is none or if the
// cell is the baseline.
const Finding* baseline_of(const Findings& all, const Cell& cell) {
  for (const auto& other : all.cells) {
    const Cell& c = other.work.cell;
    if (all.plan.schemes[c.scheme].name == all.plan.baseline && c.depth == cell.depth &&
        c.schedule == cell.schedule && c.seed == cell.seed) {
      return c.name == cell.name ? nullptr : &other;  // the first variant is the baseline
    }
  }
  return nullptr;
}

void add_p_values(Findings& all) {
  const auto scored = [](const Finding& f) {
    return f.result && !f.is_known && f.result->converged && !f.result->scores.empty();
  };
  if (!all.is_translation()) return;  // a perplexity has no bootstrap
  if (all.plan.baseline.empty() || std::ranges::none_of(all.cells, scored)) return;
  const auto tests = load_tests(all.plan, all.cells[0].work.cell.config);
  const metrics::Bleu bleu(tests[0].bleu);
  std::map<std::string, metrics::Statistics> known;
  const auto statistics = [&](const Finding& f) -> const metrics::Statistics& {
    const auto& name = f.work.cell.name;
    const fs::path stem = result_file(all.output, all.plan, f.work.cell).replace_extension();
    return known.try_emplace(name, statistics_of(tests, bleu, *f.result, stem)).first->second;
  };
  for (auto& finding : all.cells) {
    const Finding* baseline = baseline_of(all, finding.work.cell);
    if (baseline == nullptr || !scored(finding) || !scored(*baseline)) continue;
    finding.p_value = metrics::paired_test(metrics::PairedTest::bootstrap, bleu,
                                           {statistics(*baseline), statistics(finding)},
                                           all.plan.evaluate.samples, metrics::kDefaultSeed)[1]
                          .p_value;
    finding.gain = finding.result->mean() - baseline->result->mean();
  }
}

// Fills the finding with the known run of its name, if there is one.
void take_known(const Plan& plan, const KnownRuns& known, Finding& finding) {
  const auto found = known.find(finding.work.cell.name);
  if (found == known.end()) return;
  const KnownRun& run = found->second;
  const std::string identity = identity_of(plan, finding.work.cell);
  require(run.identity == identity, "a known run was trained as \"{}\", the plan has \"{}\"",
          run.identity, identity);
  finding.result = run.result;
  finding.record = run.record;
  finding.commit = run.commit;
  finding.is_known = true;
}

bool counts(const std::string& name, const std::string& test) {
  if (test == kFromEnglish) return name.starts_with("en-");
  if (test == kToEnglish) return name.ends_with("-en");
  return test.empty() || name == test;
}

// Tells whether the study scores such a test set. The corpus's test sets are known only from scored
// runs; before the first, every test set counts as scored.
bool has_test(const Findings& all, const std::string& test) {
  if (test.empty()) return true;
  bool is_known = !all.plan.evaluate.tests.empty();
  for (const auto& planned : all.plan.evaluate.tests) {
    if (counts(planned.name, test)) return true;
  }
  for (const auto& finding : all.cells) {
    if (!finding.result) continue;
    for (const auto& score : finding.result->scores) {
      if (counts(score.test, test)) return true;
      is_known = true;
    }
  }
  return !is_known;
}

// Returns the mean over the test sets that `test` stands for; NaN if there are none.
double score_of(const Result& result, const std::string& test) {
  double sum = 0;
  int count = 0;
  for (const auto& score : result.scores) {
    if (!counts(score.test, test)) continue;
    sum += score.value();
    ++count;
  }
  return sum / count;
}

}  // namespace

std::string identity_of(const Plan& plan, const Cell& cell) {
  const SchemePlan& scheme = plan.schemes[cell.scheme];
  return fmt::format("{},{},{},{},{},{},{},{}", cell.name, scheme.name, scheme.variant,
                     cell.config.model.encoder_layers, cell.config.model.decoder_layers,
                     plan.schedules.empty() ? "" : plan.schedules[cell.schedule].name,
                     cell.config.schedule.peak, plan.seeds[cell.seed]);
}

Findings gather(const Plan& plan, const std::vector<Work>& work, const fs::path& output,
                const KnownRuns& known) {
  Findings all{.plan = plan, .output = output};
  for (const auto& item : work) {
    const fs::path run = run_directory(output, item.cell);
    Finding finding{.work = item,
                    .result = load_result(plan, item.cell, output),
                    .record = read_record(run),
                    .commit = run::commit_of(run)};
    if (!finding.result) take_known(plan, known, finding);
    all.cells.push_back(std::move(finding));
  }
  add_p_values(all);
  return all;
}

Summary summarise(const Findings& all, const GridPlace& place, const std::string& test) {
  Summary summary;
  if (!has_test(all, test)) return summary;
  bool is_better = false, is_worse = false;  // than the baseline, with any seed
  std::vector<double> scores;
  for (const auto& finding : all.cells) {
    const Cell& c = finding.work.cell;
    const bool here =
        c.scheme == place.scheme && c.depth == place.depth && c.schedule == place.schedule;
    if (!here || !finding.result) continue;
    ++summary.done;
    if (!finding.result->converged) {
      ++summary.failed;
      continue;
    }
    const double score = score_of(*finding.result, test);
    if (std::isnan(score)) continue;
    scores.push_back(score);
    if (finding.p_value && test.empty()) {
      summary.p_value = std::max(summary.p_value.value_or(0), *finding.p_value);
      is_better |= finding.gain > 0;
      is_worse |= finding.gain < 0;
    }
  }
  if (summary.p_value && is_better == is_worse) summary.p_value = 1;
  summary.scored = static_cast<int>(scores.size());
  const auto n = static_cast<double>(scores.size());
  if (scores.empty()) return summary;
  summary.mean = std::accumulate(scores.begin(), scores.end(), 0.0) / n;
  double squares = 0;
  for (const double s : scores) squares += (s - summary.mean) * (s - summary.mean);
  if (scores.size() > 1) summary.deviation = std::sqrt(squares / (n - 1));
  return summary;
}

std::string text_of(const Summary& s) {
  if (s.done > 0 && s.failed == s.done) return "Fail";
  if (s.scored == 0) return "–";
  std::string text = fmt::format("{:.2f}", s.mean);
  if (s.scored > 1) text += fmt::format(" ± {:.2f}", s.deviation);
  if (s.p_value && *s.p_value < kSignificant) text += "*";
  if (s.failed > 0) text += fmt::format(" ({} of {} failed)", s.failed, s.done);
  return text;
}

}  // namespace residual::study
