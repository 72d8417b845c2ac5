// residual evaluate: translates test sets and prints their scores and the speed; of a language
// model, the perplexity of a text.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/decoding.h"
#include "cli/evaluate/scores.h"
#include "cli/evaluate/test_sets.h"
#include "cli/text_model/text_scores.h"
#include "data/prepared.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"
#include "text/normalizer.h"

namespace residual::cli {
namespace {

using metrics::Lines;

struct Options {
  ModelOptions model;
  fs::path data;
  std::string split = "test";
  fs::path source;
  std::vector<fs::path> references;
  text::Invalid invalid = text::Invalid::refuse;
  std::string tokenizer = "13a";
  bool lowercase = false;
  fs::path output;
  metrics::ReportOptions report;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<metrics::ScoreReport> score(const Options& o, const Lines& translations,
                                        const metrics::References& references) {
  const metrics::Bleu bleu({.tokenizer = named<metrics::BleuTokenizer>("tokenize", o.tokenizer),
                            .lowercase = o.lowercase});
  const metrics::Chrf chrf({.lowercase = o.lowercase});
  const metrics::Ter ter;
  std::vector<metrics::ScoreReport> reports;
  for (const metrics::Metric* metric :
       {static_cast<const metrics::Metric*>(&bleu), static_cast<const metrics::Metric*>(&chrf),
        static_cast<const metrics::Metric*>(&ter)}) {
    const auto sums = metric->statistics(translations, references).sum();
    reports.push_back({metric->name(), metric->score(sums), metric->details(sums),
                       metric->signature(references.size())});
  }
  return reports;
}

bool has_upper_case(const Lines& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) {
    std::string lower;
    text::lowercase(line, lower);
    return lower != line;
  });
}

void warn_of_case(const Options& o, const Lines& translations, const Lines& references) {
  if (o.lowercase || has_upper_case(translations) || !has_upper_case(references)) return;
  log::warn(
      "the references contain upper case but no translation does; if the model was trained on "
      "lower-cased text, use --lowercase to ignore case");
}

// Where translations go: a file, or, with several directions, a file of a directory for each. What
// cannot be written is reported after the scores, which took long to compute.
class Output {
 public:
  Output(const fs::path& path, bool has_several) : path_(path), has_several_(has_several) {
    if (path.empty()) return;
    if (has_several) {
      fs::create_directories(path);
    } else {
      file_.emplace(path);  // before long work
    }
  }

  void write(const data::LanguagePair& languages, const Lines& translations) {
    if (path_.empty()) return;
    try {
      if (has_several_) file_.emplace(path_ / (languages.name() + ".txt"));
      for (const auto& line : translations) file_->write(line + "\n");
      file_->commit();
    } catch (const Error&) {
      unwritten_ = std::current_exception();
    }
  }

  void report() const {
    if (unwritten_) std::rethrow_exception(unwritten_);
  }

 private:
  fs::path path_;
  bool has_several_;
  std::optional<text::LineWriter> file_;
  std::exception_ptr unwritten_;
};

TestScores evaluate(const Options& o, decode::Translator& translator, const TestSet& test,
                    const TestText& text, Progress& progress, Output& output) {
  TestScores result{.languages = test.languages, .work = {}, .reports = {}};
  result.work.sentences = text.lines.size();
  Lines translations;
  size_t at = 0;
  const auto next = [&]() -> std::optional<decode::SourceLine> {
    if (at == text.lines.size()) return std::nullopt;
    return decode::SourceLine{text.lines[at++], ""};
  };
  const auto deliver = [&](const decode::Translation& translation) {
    const auto& best = translation.outputs.front();
    translations.push_back(best.text);
    result.work.source_tokens += translation.source_pieces.size() + 1;
    result.work.tokens += best.tokens.size() + 1;
    progress.add();
  };
  decode::Translator::Stream stream{.next = next, .deliver = deliver};
  if (o.model.translator.any_direction) {
    stream.terms.tools = std::make_shared<decode::TextTools>(
        translator.tools().towards(test.languages.source, test.languages.target));
  }
  const auto begin = std::chrono::steady_clock::now();
  translator.translate(stream);
  result.work.seconds = seconds_since(begin);
  output.write(test.languages, translations);
  warn_of_case(o, translations, text.references[0]);
  result.reports = score(o, translations, text.references);
  return result;
}

// Throws an Error, before long work, if the model does not translate in one of the directions.
void check_directions(const decode::Translator& translator, const std::vector<TestSet>& tests) {
  for (const auto& test : tests) {
    translator.tools().model->direction(test.languages.source, test.languages.target);
  }
}

void run_translation(Options o) {
  std::vector<TestSet> tests = {{.languages = {}, .text = o.source, .references = o.references}};
  const auto& [from, to] = std::tie(o.model.translator.source, o.model.translator.target);
  if (!o.data.empty()) tests = test_sets_in(o.data, o.split, from, to);
  const bool has_several = tests.size() > 1;
  if (has_several) {
    if (!o.model.translator.terms.empty()) {
      throw CLI::ValidationError("--terms are of one direction; choose it with --from and --to");
    }
    if (o.output == "-") {
      throw CLI::ValidationError("--output: give a directory, for a file of each direction");
    }
    from = to = "";
  } else if (!o.data.empty()) {
    from = tests[0].languages.source;
    to = tests[0].languages.target;
  }
  o.model.translator.any_direction = has_several;
  o.model.translator.text.sentences = decode::Sentences::keep;  // a line of a test set is one
  std::vector<TestText> texts;
  uint64_t lines = 0;
  for (const auto& test : tests) {
    texts.push_back(read_test(test, o.invalid));
    lines += texts.back().lines.size();
  }
  Output output(o.output, has_several);
  const auto start = std::chrono::steady_clock::now();
  const auto translator = load_translator(o.model);
  const double load_seconds = seconds_since(start);
  if (has_several) check_directions(*translator, tests);
  Progress progress("translate", lines, "lines");
  std::vector<TestScores> scores;
  for (size_t i = 0; i < tests.size(); ++i) {
    scores.push_back(evaluate(o, *translator, tests[i], texts[i], progress, output));
  }
  progress.finish();
  fmt::print("{}", has_several ? all_directions(scores, load_seconds, o.report)
                               : one_direction(scores[0], load_seconds, o.report));
  output.report();
}

// Finds the text of the split: documents, or the lines of the target side of parallel text.
TextFiles take_text(const Options& o) {
  const data::Manifest manifest = data::load_manifest(o.data);
  const std::string& language = o.model.translator.target;
  TextFiles texts{.by_line = manifest.recipe.language.empty()};
  for (const auto& corpus : manifest.corpora) {
    if (corpus.split != o.split || (!language.empty() && corpus.target != language)) continue;
    data::check_listed(manifest, o.data, corpus.target_text);
    texts.files.push_back(o.data / corpus.target_text);
  }
  require(!texts.files.empty(), "{}: has no {} text; `residual info` lists its corpora",
          o.data.string(), o.split);
  return texts;
}

// The perplexity of a language model.
void run_language(const Options& o) {
  const TextFiles texts =
      o.data.empty() ? TextFiles{.files = {o.source}, .invalid = o.invalid} : take_text(o);
  const decode::TranslatorOptions& t = o.model.translator;
  const decode::TextScorer scorer(
      decode::load_text_models(o.model.models, t.precision, model::Kind::language),
      decode::TextSide::of(model::Directory::open(o.model.models[0], model::Check::never), t.target,
                           t.pieces),
      {});
  const auto score = score_files(scorer, texts);
  fmt::print("{}", o.report.json ? text_score_json(score) : text_score_table(score));
}

void run(Options o) {
  const bool files = !o.source.empty() && !o.references.empty();
  const bool is_language =
      !(o.data.empty() && o.source.empty()) && kind_of(o.model) == model::Kind::language;
  if (is_language) return run_language(o);
  if (o.data.empty() && !files) {
    throw CLI::RequiredError("--data, or --source and --reference,");
  }
  std::vector<fs::path> inputs = o.references;
  inputs.insert(inputs.end(),
                {o.source, o.model.translator.terms, o.model.translator.shortlist.file});
  check_standard_input(inputs);
  check_search(o.model);
  if (!o.data.empty() && o.model.translator.pieces) {
    throw CLI::ValidationError(
        "--data gives raw text; with --pieces, give --source and --reference");
  }
  if (o.report.json && o.output == "-") {
    throw CLI::ValidationError("--json and the translations cannot both go to standard output");
  }
  run_translation(std::move(o));
}

void add_test_set_options(CLI::App& command, Options& o) {
  const std::string group = "Test set";
  CLI::Option* data =
      command
          .add_option("--data", o.data,
                      "prepared corpus: all its raw test texts are translated, or scored by a "
                      "language model; or a directory of folders such as de-en with raw texts")
          ->type_name("DIR")
          ->group(group);
  command.add_option("--split", o.split, "texts of the directory: test or dev")
      ->needs(data)
      ->check(CLI::IsMember({"test", "dev"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("-s,--source", o.source,
                  "source lines, instead of --data; of a language model, documents")
      ->excludes(data)
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("-r,--ref,--reference", o.references,
                  "reference translations; repeat for several references")
      ->excludes(data)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(group);
  add_replace_invalid(command, o.invalid, group);
}

void add_score_options(CLI::App& command, Options& o) {
  const std::string group = "Scores and output";
  command.add_option("--tokenize", o.tokenizer, "tokeniser for BLEU: none, 13a, intl, char or zh")
      ->check(CLI::IsMember(all_names<metrics::BleuTokenizer>()))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command
      .add_flag("--lowercase", o.lowercase, "ignore case in BLEU and chrF; TER always ignores it")
      ->group(group);
  command.add_option("-w,--width", o.report.width, "digits after the decimal point")
      ->check(whole(0, 15))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_flag("--json", o.report.json, "print JSON")->group(group);
  command
      .add_option("-o,--output", o.output,
                  "also write the translations to this file; with several directions, to "
                  "files of this directory")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void add_evaluate(CLI::App& root) {
  CLI::App* command = add_command(
      root, "evaluate", "Translate test sets and print BLEU, chrF, TER and the speed",
      {"residual evaluate --model runs/iwslt14 --data prepared/iwslt14",
       "residual evaluate --model models/de-en --source test.de --reference test.en",
       "# all directions of a multilingual corpus, and their means",
       "residual evaluate --model runs/opus100 --data prepared/opus100",
       "# the perplexity of a language model",
       "residual evaluate --model runs/english --data prepared/english",
       "# the quality and speed of int8",
       "residual evaluate --model models/de-en --precision int8 -s test.de -r test.en"});
  auto options = std::make_shared<Options>();
  add_model_options(*command, options->model);
  add_test_set_options(*command, *options);
  add_search_options(*command, options->model.translator);
  add_score_options(*command, *options);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
