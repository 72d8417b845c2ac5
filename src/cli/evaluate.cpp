// residual evaluate: translates a test set and prints its scores and the speed; of a language
// model, the perplexity of a text.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/decoding.h"
#include "cli/text_model/text_scores.h"
#include "data/prepared.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/read.h"
#include "metrics/report.h"
#include "metrics/ter.h"
#include "text/normalizer.h"

namespace residual::cli {
namespace {

using metrics::Lines;
using nlohmann::ordered_json;

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

struct Result {
  Lines translations;
  uint64_t source_tokens = 0, tokens = 0;  // with </s>
  double load_seconds = 0, seconds = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Finds the only corpus of the split with the requested languages. Its files become the test set,
// its languages the direction.
void take_prepared(Options& o) {
  const data::Manifest manifest = data::load_manifest(o.data);
  const auto& [from, to] = std::tie(o.model.translator.source, o.model.translator.target);
  std::vector<const data::PreparedCorpus*> found;
  std::vector<std::string> names;
  for (const auto& corpus : manifest.corpora) {
    const bool fits =
        (from.empty() || corpus.source == from) && (to.empty() || corpus.target == to);
    if (corpus.split != o.split || !fits) continue;
    found.push_back(&corpus);
    names.push_back(corpus.source + "-" + corpus.target);
  }
  require(!found.empty(), "{}: has no {} corpus for these languages; `residual info` lists them",
          o.data.string(), o.split);
  require(found.size() == 1, "{}: has {} corpora for {}; choose one with --from and --to",
          o.data.string(), o.split, fmt::join(names, ", "));
  o.model.translator.source = found[0]->source;
  o.model.translator.target = found[0]->target;
  for (const auto& file : {found[0]->source_text, found[0]->target_text}) {
    data::check_listed(manifest, o.data, file);
  }
  o.source = o.data / found[0]->source_text;
  o.references = {o.data / found[0]->target_text};
}

Result translate(const Options& o, const Lines& lines) {
  Result result;
  ModelOptions model = o.model;
  model.translator.text.sentences = decode::Sentences::keep;  // a line of a test set is one
  const auto start = std::chrono::steady_clock::now();
  const auto translator = load_translator(model);
  result.load_seconds = seconds_since(start);
  Progress progress("translate", lines.size(), "lines");
  size_t at = 0;
  const auto next = [&]() -> std::optional<decode::SourceLine> {
    if (at == lines.size()) return std::nullopt;
    return decode::SourceLine{lines[at++], ""};
  };
  const auto deliver = [&](const decode::Translation& translation) {
    const auto& best = translation.outputs.front();
    result.translations.push_back(best.text);
    result.source_tokens += translation.source_pieces.size() + 1;
    result.tokens += best.tokens.size() + 1;
    progress.add();
  };
  const auto begin = std::chrono::steady_clock::now();
  translator->translate({.next = next, .deliver = deliver});
  result.seconds = seconds_since(begin);
  progress.finish();
  return result;
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

void print(const Result& r, const std::vector<metrics::ScoreReport>& reports,
           const metrics::ReportOptions& options) {
  const auto n = static_cast<double>(r.translations.size());
  const std::string scores = metrics::format_scores(reports, options);
  if (options.json) {
    const ordered_json out = {{"scores", ordered_json::parse(scores)},
                              {"sentences", r.translations.size()},
                              {"source_tokens", r.source_tokens},
                              {"tokens", r.tokens},
                              {"load_seconds", r.load_seconds},
                              {"seconds", r.seconds},
                              {"sentences_per_second", n / r.seconds},
                              {"tokens_per_second", static_cast<double>(r.tokens) / r.seconds}};
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("{}", scores);
  if (!scores.ends_with('\n')) fmt::print("\n");
  fmt::print(
      "{} sentences, {} tokens in {:.2f} s: {:.1f} sentences/s, {:.0f} tokens/s; loaded in {:.2f} "
      "s\n",
      format_count(r.translations.size()), format_count(r.tokens), r.seconds, n / r.seconds,
      static_cast<double>(r.tokens) / r.seconds, r.load_seconds);
}

bool has_upper_case(const Lines& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) {
    std::string lower;
    text::lowercase(line, lower);
    return lower != line;
  });
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
  if (!o.data.empty()) take_prepared(o);
  const Lines sources = metrics::read_lines(o.source, o.invalid);
  metrics::References references;
  for (const auto& path : o.references) {
    references.push_back(metrics::read_lines(path, o.invalid));
    require(references.back().size() == sources.size(),
            "{} has {} lines, its reference {} has {}; both must have the same number of lines",
            o.source.string(), sources.size(), path.string(), references.back().size());
  }
  std::optional<text::LineWriter> output;  // before long work
  if (!o.output.empty()) output.emplace(o.output);
  const Result result = translate(o, sources);
  std::exception_ptr unwritten;  // reported after the scores, which took long to compute
  try {
    if (output) {
      for (const auto& line : result.translations) output->write(line + "\n");
      output->commit();
    }
  } catch (const Error&) {
    unwritten = std::current_exception();
  }
  if (!o.lowercase && !has_upper_case(result.translations) && has_upper_case(references[0])) {
    log::warn(
        "the references contain upper case but no translation does; if the model was trained on "
        "lower-cased text, use --lowercase to ignore case");
  }
  print(result, score(o, result.translations, references), o.report);
  if (unwritten) std::rethrow_exception(unwritten);
}

void add_test_set_options(CLI::App& command, Options& o) {
  const std::string group = "Test set";
  CLI::Option* data =
      command
          .add_option(
              "--data", o.data,
              "prepared corpus; its raw test text is translated, or scored by a language model")
          ->type_name("DIR")
          ->group(group);
  command.add_option("--split", o.split, "split of the prepared corpus: test or dev")
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
  command.add_option("-o,--output", o.output, "also write the translations to this file")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void add_evaluate(CLI::App& root) {
  CLI::App* command = add_command(
      root, "evaluate", "Translate a test set and print BLEU, chrF, TER and the speed",
      {"residual evaluate --model runs/iwslt14 --data prepared/iwslt14",
       "residual evaluate --model models/de-en --source test.de --reference test.en",
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
