// residual score: computes BLEU, chrF and TER of translations against references.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/multi_bleu.h"
#include "metrics/read.h"
#include "metrics/report.h"
#include "metrics/significance.h"
#include "metrics/ter.h"

namespace residual::cli {
namespace {

using metrics::Column;
using metrics::Lines;
using metrics::Metric;
using metrics::References;
using metrics::ScoreReport;
using metrics::Statistics;

constexpr int64_t kTokenizedLines = 100;  // threshold of the warning, as in sacreBLEU

struct Options {
  std::vector<std::string> references, hypotheses;
  std::vector<std::string> metrics{"bleu"};
  bool sentence_level = false;
  text::Invalid invalid = text::Invalid::refuse;

  metrics::BleuOptions bleu;
  std::string tokenizer = "13a", smoothing = "exp";
  bool force = false;
  bool lowercase = false;
  metrics::ChrfOptions chrf;
  metrics::TerOptions ter;
  bool unk_never_matches = false;

  bool confidence = false, paired_bootstrap = false, paired_randomisation = false;
  int64_t confidence_samples = 1000, bootstrap_samples = 1000, randomisation_trials = 10000;
  uint64_t seed = metrics::kDefaultSeed;
  const CLI::Option* seed_option = nullptr;

  metrics::ReportOptions report;
};

struct System {
  std::string name;
  Lines lines;
};

bool uses(const Options& options, std::string_view metric) {
  return std::find(options.metrics.begin(), options.metrics.end(), metric) != options.metrics.end();
}

// In the order sacreBLEU prints them.
std::vector<std::unique_ptr<Metric>> make_metrics(const Options& options) {
  std::vector<std::unique_ptr<Metric>> list;
  if (uses(options, "bleu")) {
    metrics::BleuOptions bleu = options.bleu;
    bleu.tokenizer = named<metrics::BleuTokenizer>("tokenize", options.tokenizer);
    bleu.smoothing = named<metrics::Smoothing>("smooth", options.smoothing);
    bleu.lowercase = options.lowercase;
    bleu.effective_order = bleu.effective_order || options.sentence_level;
    list.push_back(std::make_unique<metrics::Bleu>(bleu));
  }
  if (uses(options, "chrf")) list.push_back(std::make_unique<metrics::Chrf>(options.chrf));
  if (uses(options, "chrf++")) {
    metrics::ChrfOptions chrf = options.chrf;
    chrf.word_order = 2;
    list.push_back(std::make_unique<metrics::Chrf>(chrf));
  }
  if (uses(options, "multi-bleu")) {
    list.push_back(std::make_unique<metrics::MultiBleu>(metrics::MultiBleuOptions{
        .lowercase = options.lowercase, .unk_never_matches = options.unk_never_matches}));
  }
  if (uses(options, "ter")) list.push_back(std::make_unique<metrics::Ter>(options.ter));
  return list;
}

void check_usage(const Options& options) {
  std::vector<fs::path> inputs(options.hypotheses.begin(), options.hypotheses.end());
  inputs.insert(inputs.end(), options.references.begin(), options.references.end());
  check_standard_input(inputs);
  const auto wrong = [](const std::string& text) { throw CLI::ValidationError(text); };
  const bool paired = options.paired_bootstrap || options.paired_randomisation;
  const size_t systems = options.hypotheses.size();
  if (paired && systems < 2)
    wrong("a paired test needs two or more systems; the first is the baseline");
  if (options.confidence && systems > 1) {
    wrong("--confidence is for one system; compare several with --paired-bs or --paired-ar");
  }
  if (options.sentence_level &&
      (systems > 1 || options.metrics.size() > 1 || paired || options.confidence)) {
    wrong("--sentence-level takes one system, one metric and no statistical test");
  }
  const bool has_value = options.smoothing == "floor" || options.smoothing == "add-k";
  if (options.bleu.smoothing_value && !has_value) {
    wrong("--smooth-value requires --smooth-method floor or add-k");
  }
  const int64_t order = options.chrf.word_order;
  if (uses(options, "chrf++") && !uses(options, "chrf") && order != 0 && order != 2) {
    wrong("--chrf-word-order applies to chrf only; chrf++ always uses 2");
  }
  if (options.unk_never_matches && !uses(options, "multi-bleu")) {
    wrong("--unk-never-matches requires --metric multi-bleu");
  }
  check_typed([&] { make_metrics(options); });
}

std::vector<System> read_systems(const Options& options) {
  std::vector<System> systems;
  for (const auto& path : options.hypotheses) {
    const bool known = std::any_of(systems.begin(), systems.end(),
                                   [&](const System& system) { return system.name == path; });
    require(!known, "{}: given twice; each system must be a different file", path);
    systems.push_back({path, metrics::read_lines(path, options.invalid)});
  }
  return systems;
}

References read_references(const Options& options, const std::vector<System>& systems) {
  References references;
  for (const auto& path : options.references) {
    references.push_back(metrics::read_lines(path, options.invalid));
    for (const System& system : systems) {
      require(system.lines.size() == references.back().size(),
              "{} has {} lines, its reference {} has {}; both must have the same number of lines",
              system.name, system.lines.size(), path, references.back().size());
    }
  }
  return references;
}

void warn_of_tokenized(const Options& options, const System& system) {
  if (options.force || !uses(options, "bleu")) return;
  const int64_t count = metrics::count_tokenized_ends(system.lines);
  if (count < kTokenizedLines) return;
  log::warn(
      "{}: {} lines end with a separate full stop, so the text seems to be tokenised; BLEU expects "
      "detokenised text (--force silences this warning)",
      system.name, count);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void score_sentences(const Options& options, const Metric& metric, const System& system,
                     const References& references) {
  const Statistics statistics = metric.statistics(system.lines, references);
  const auto signature = metric.signature(references.size());
  for (size_t i = 0; i < statistics.rows(); ++i) {
    const auto row = std::as_const(statistics).row(i);
    const ScoreReport report{metric.name(), metric.score(row), metric.details(row), signature};
    print(metrics::format_score(report, options.report, false) + "\n");
  }
}

void score_one_system(const Options& options, const System& system, const References& references) {
  std::vector<ScoreReport> reports;
  for (const auto& metric : make_metrics(options)) {
    const Statistics statistics = metric->statistics(system.lines, references);
    const auto sums = statistics.sum();
    const auto* multi_bleu = dynamic_cast<const metrics::MultiBleu*>(metric.get());
    if (multi_bleu && !options.report.json && !options.report.score_only && !options.confidence) {
      print(multi_bleu->line(sums) + "\n");
      continue;
    }
    metrics::Trials trials;
    std::optional<metrics::Interval> confidence;
    if (options.confidence) {
      trials = {.bootstrap = options.confidence_samples, .seed = options.seed};
      confidence = metrics::confidence_interval(
          metrics::bootstrap_scores(*metric, statistics, trials.bootstrap, trials.seed),
          metric->scores_in_float(), metrics::Averaging::exact);
    }
    reports.push_back({metric->name(), metric->score(sums), metric->details(sums),
                       metric->signature(references.size(), trials), confidence});
  }
  if (!reports.empty()) print(metrics::format_scores(reports, options.report));
}

void score_systems(const Options& options, const std::vector<System>& systems,
                   const References& references) {
  const bool paired = options.paired_bootstrap || options.paired_randomisation;
  metrics::Trials trials{.seed = options.seed};
  if (options.paired_bootstrap) trials.bootstrap = options.bootstrap_samples;
  if (options.paired_randomisation) trials.randomisation = options.randomisation_trials;
  std::vector<Column> columns;
  for (const auto& metric : make_metrics(options)) {
    std::vector<Statistics> statistics;
    for (const System& system : systems) {
      statistics.push_back(metric->statistics(system.lines, references));
    }
    Column column{metric->name(), metric->signature(references.size(), trials), {}};
    if (paired) {
      const auto test = options.paired_bootstrap ? metrics::PairedTest::bootstrap
                                                 : metrics::PairedTest::randomisation;
      column.results = metrics::paired_test(
          test, *metric, statistics, std::max(trials.bootstrap, trials.randomisation), trials.seed);
    } else {
      for (const auto& rows : statistics) {
        column.results.push_back({.score = metric->score(rows.sum())});
      }
    }
    columns.push_back(std::move(column));
  }
  std::vector<std::string> names;
  for (const System& system : systems) {
    names.push_back((paired && names.empty() ? "Baseline: " : "") + system.name);
  }
  print(metrics::format_systems(names, columns, options.report));
}

void run(const Options& options) {
  check_usage(options);
  const auto systems = read_systems(options);
  const auto references = read_references(options, systems);
  for (const System& system : systems) warn_of_tokenized(options, system);
  if (options.sentence_level) {
    score_sentences(options, *make_metrics(options).front(), systems.front(), references);
  } else if (systems.size() == 1) {
    score_one_system(options, systems.front(), references);
  } else {
    score_systems(options, systems, references);
  }
}

void add_text_options(CLI::App& command, Options& options) {
  const std::string group = "Input";
  command
      .add_option("hypotheses", options.hypotheses,
                  "translations, one sentence per line; - is standard input")
      ->required()
      ->type_name("HYP")
      ->group(group);
  command
      .add_option("-r,--ref", options.references,
                  "reference translations; repeat for several references")
      ->required()
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(group);
  add_replace_invalid(command, options.invalid, group);
  command.add_option("-m,--metric", options.metrics, "bleu, chrf, chrf++, ter, multi-bleu")
      ->check(CLI::IsMember({"bleu", "chrf", "chrf++", "ter", "multi-bleu"}))
      ->default_str("bleu")
      ->type_name("NAME")
      ->group(group);
  command.add_flag("--sentence-level", options.sentence_level, "one score per line")->group(group);
}

void add_bleu_options(CLI::App& command, Options& options) {
  const std::string group = "BLEU";
  command.add_option("--tokenize", options.tokenizer, "none, 13a, intl, char or zh")
      ->check(CLI::IsMember(all_names<metrics::BleuTokenizer>()))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command.add_flag("--lowercase", options.lowercase, "ignore case, also for multi-bleu")
      ->group(group);
  command
      .add_option("--smooth-method", options.smoothing,
                  "smoothing of orders without matches: none, floor, add-k or exp")
      ->check(CLI::IsMember(all_names<metrics::Smoothing>()))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--smooth-value", options.bleu.smoothing_value,
                  "value for floor (default: 0.1) or add-k (default: 1)")
      ->check(not_negative())
      ->type_name("X")
      ->group(group);
  command.add_option("--max-order", options.bleu.max_order, "maximum n-gram order")
      ->check(whole(1, 100))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_flag("--effective-order", options.bleu.effective_order,
                "leave out orders without n-grams; always on with --sentence-level")
      ->group(group);
  command.add_flag("--force", options.force, "do not warn about tokenised input")->group(group);
  command
      .add_flag("--unk-never-matches", options.unk_never_matches,
                "multi-bleu: <unk> in a reference matches nothing, as in fairseq")
      ->group(group);
}

void add_chrf_options(CLI::App& command, metrics::ChrfOptions& options) {
  const std::string group = "chrF";
  command.add_option("--chrf-char-order", options.char_order, "maximum order of character n-grams")
      ->check(whole(0, 100))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--chrf-word-order", options.word_order,
                  "maximum order of word n-grams; 2 is chrF++")
      ->check(whole(0, 100))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_option("--chrf-beta", options.beta, "weight of recall against precision")
      ->check(whole(0, 1000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_flag("--chrf-whitespace", options.whitespace, "count white space as characters")
      ->group(group);
  command.add_flag("--chrf-lowercase", options.lowercase, "ignore case")->group(group);
  command
      .add_flag("--chrf-eps-smoothing", options.eps_smoothing,
                "smooth as chrF++.py, NLTK and Moses do")
      ->group(group);
}

void add_ter_options(CLI::App& command, metrics::TerOptions& options) {
  const std::string group = "TER";
  command.add_flag("--ter-case-sensitive", options.case_sensitive, "do not ignore case")
      ->group(group);
  command
      .add_flag("--ter-normalized", options.normalized, "separate punctuation, undo XML escapes")
      ->group(group);
  command.add_flag("--ter-no-punct", options.no_punct, "drop punctuation")->group(group);
  command
      .add_flag("--ter-asian-support", options.asian_support,
                "apply the two options above to Chinese and Japanese characters too")
      ->group(group);
}

void add_test_options(CLI::App& command, Options& options) {
  const std::string group = "Confidence and significance";
  const auto add_count = [&](const std::string& name, int64_t& count, const std::string& what) {
    return command.add_option(name, count, what)
        ->check(whole(1, 100'000'000))
        ->capture_default_str()
        ->type_name("N")
        ->group(group);
  };
  command.add_flag("--confidence", options.confidence, "95 % interval of one system's score")
      ->group(group);
  add_count("--confidence-n", options.confidence_samples, "bootstrap samples of --confidence")
      ->needs("--confidence");
  CLI::Option* bootstrap =
      command
          .add_flag("--paired-bs", options.paired_bootstrap,
                    "compare systems with the first by paired bootstrap resampling")
          ->group(group);
  add_count("--paired-bs-n", options.bootstrap_samples, "samples")->needs("--paired-bs");
  command
      .add_flag("--paired-ar", options.paired_randomisation,
                "compare systems with the first by approximate randomisation")
      ->excludes(bootstrap)
      ->group(group);
  add_count("--paired-ar-n", options.randomisation_trials, "trials")->needs("--paired-ar");
  options.seed_option =
      command.add_option("--seed", options.seed, "random seed; may also be set by SACREBLEU_SEED")
          ->check(not_negative())
          ->capture_default_str()
          ->type_name("N")
          ->group(group);
}

// Reads the seed as sacreBLEU does: "none" means a different seed each time.
uint64_t seed_of_environment() {
  const char* const given = std::getenv("SACREBLEU_SEED");
  if (given == nullptr || *given == 0) return metrics::kDefaultSeed;
  const std::string text = CLI::detail::to_lower(given);
  if (text == "none") return std::random_device()();
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw CLI::ValidationError(
        fmt::format("SACREBLEU_SEED: expected a whole number or none, got \"{}\"", given));
  }
  return seed;
}

void add_report_options(CLI::App& command, metrics::ReportOptions& options) {
  const std::string group = "Output";
  command.add_flag("--json", options.json, "print JSON; with --sentence-level one object per line")
      ->group(group);
  command.add_option("-w,--width", options.width, "digits after the decimal point")
      ->check(whole(0, 15))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_flag("-b,--score-only", options.score_only, "print only the score")->group(group);
  command.add_flag("--short", options.abbreviated, "print abbreviated signatures")->group(group);
}

}  // namespace

void add_score(CLI::App& root) {
  CLI::App* command =
      add_command(root, "score",
                  "Score translations: BLEU, chrF and TER as in sacreBLEU, with significance tests",
                  {"residual score --ref test.de output.de",
                   "residual score --ref test.de output.de --metric bleu chrf++ ter --width 2",
                   "# is b better than a?",
                   "residual score --ref test.de a.de b.de --paired-bs --metric bleu chrf",
                   "# tokenised BLEU, as older papers report it",
                   "residual score --ref test.tok.de output.tok.de --metric multi-bleu"});
  const auto options = std::make_shared<Options>();
  add_text_options(*command, *options);
  add_bleu_options(*command, *options);
  add_chrf_options(*command, options->chrf);
  add_ter_options(*command, options->ter);
  add_test_options(*command, *options);
  add_report_options(*command, options->report);
  command->callback([options] {
    if (options->seed_option->count() == 0) options->seed = seed_of_environment();
    run(*options);
  });
}

}  // namespace residual::cli
