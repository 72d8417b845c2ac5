#include "study/evaluate.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "data/prepared.h"
#include "decode/language/generator.h"
#include "decode/language/text_score.h"
#include "decode/translator.h"
#include "metrics/read.h"
#include "run/average.h"
#include "text/segmenter.h"

namespace residual::study {
namespace {

void choose_words(TestSet& test, const std::string& tokenizer, const text::Segmenter& target) {
  test.bleu.lowercase = target.options().lowercase;
  if (tokenizer != "corpus") {
    test.bleu.tokenizer = named<metrics::BleuTokenizer>("evaluate.tokenize", tokenizer);
    return;
  }
  test.bleu.tokenizer = metrics::BleuTokenizer::none;
  test.bleu.smoothing = metrics::Smoothing::none;
  test.to_words = target.to_words();
}

void read_texts(TestSet& test, const fs::path& source, const fs::path& reference) {
  test.sources = metrics::read_lines(source, text::Invalid::refuse);
  test.references = test.scored(metrics::read_lines(reference, text::Invalid::refuse));
  require(test.sources.size() == test.references.size(),
          "{} has {} lines, but its reference {} has {}; they must be parallel, line by line",
          source.string(), test.sources.size(), reference.string(), test.references.size());
}

text::Segmenter segmenter_of(const data::Manifest& manifest, const fs::path& directory,
                             const std::string& language) {
  const auto read = [&](const std::string& file) {
    return data::read_listed(manifest, directory, file);
  };
  return text::Segmenter::load(read, directory.string(), language);
}

// Returns the training corpus of a test's direction.
const data::PreparedCorpus& training_corpus(const data::Manifest& manifest, const TestPlan& test,
                                            const fs::path& directory) {
  std::vector<std::string> directions;
  const data::PreparedCorpus* found = nullptr;
  for (const auto& corpus : manifest.corpora) {
    if (corpus.split != "train") continue;
    directions.push_back(corpus.source + "-" + corpus.target);
    if (test.direction.empty() || test.direction == directions.back()) found = &corpus;
  }
  require(found != nullptr && (directions.size() == 1 || !test.direction.empty()),
          "evaluate.tests.direction: {} is {}, expected one of {} (in {})", test.name,
          test.direction.empty() ? "empty" : test.direction, fmt::join(directions, ", "),
          directory.string());
  return *found;
}

// Returns the directory of the weights that the plan selects.
fs::path model_of(const EvaluatePlan& plan, const fs::path& run) {
  switch (plan.model) {
    case ScoredWeights::last:
      return run / "last";
    case ScoredWeights::best:
      return run;
    case ScoredWeights::average:
      break;
  }
  fs::path mean = run / "average";
  run::average({run}, {.epochs = plan.average_epochs}, mean);
  return mean;
}

// Returns the lines of a table (without nested tables) that differ from the defaults.
template <class Struct>
std::string changed_keys(const Struct& table) {
  const std::string defaults = "\n" + to_toml(Struct{});
  std::istringstream lines(to_toml(table));
  std::string changed;
  for (std::string line; std::getline(lines, line);) {
    if (defaults.find("\n" + line + "\n") == std::string::npos) changed += line + "\n";
  }
  return changed;
}

}  // namespace

namespace {

// The test corpora's text on the side that the model was trained on.
std::vector<TestSet> texts_of(const Plan& plan, const fs::path& directory, run::TextSide side) {
  const data::Manifest manifest = data::load_manifest(directory);
  require(plan.evaluate.tests.empty(),
          "[[evaluate.tests]] are for translations; a language model is scored on the test text of "
          "{}",
          directory.string());
  std::vector<TestSet> tests;
  for (const auto& corpus : manifest.corpora) {
    if (corpus.split != "test") continue;
    const bool is_source = side == run::TextSide::source;
    const std::string& file = is_source ? corpus.source_text : corpus.target_text;
    const std::string& language = is_source ? corpus.source : corpus.target;
    data::check_listed(manifest, directory, file);
    tests.push_back({.name = language, .source = language, .target = language});
    tests.back().sources = data::read_texts(manifest, directory / file);
  }
  return tests;
}

}  // namespace

metrics::Lines TestSet::scored(metrics::Lines lines) const {
  if (!to_words) return lines;
  for (auto& line : lines) {
    std::string words;
    to_words(line, words);
    line = std::move(words);
  }
  return lines;
}

std::vector<TestSet> load_tests(const Plan& plan, const fs::path& directory) {
  const EvaluatePlan& evaluate = plan.evaluate;
  std::vector<TestSet> tests;
  const data::Manifest manifest = data::load_manifest(directory);
  for (const auto& corpus : manifest.corpora) {
    if (corpus.split != "test" || !evaluate.tests.empty()) continue;
    tests.push_back({.name = corpus.source + "-" + corpus.target,
                     .source = corpus.source,
                     .target = corpus.target,
                     .length_penalty = evaluate.length_penalty});
    choose_words(tests.back(), evaluate.tokenizer,
                 segmenter_of(manifest, directory, corpus.target));
    for (const auto& file : {corpus.source_text, corpus.target_text}) {
      data::check_listed(manifest, directory, file);
    }
    read_texts(tests.back(), directory / corpus.source_text, directory / corpus.target_text);
  }
  for (const auto& test : evaluate.tests) {
    const data::PreparedCorpus& corpus = training_corpus(manifest, test, directory);
    tests.push_back({.name = test.name,
                     .source = corpus.source,
                     .target = corpus.target,
                     .length_penalty = test.length_penalty});
    choose_words(tests.back(), evaluate.tokenizer,
                 segmenter_of(manifest, directory, corpus.target));
    read_texts(tests.back(), test.source, test.reference);
  }
  require(!tests.empty(), "{}: has no test corpus, and {} names no [[evaluate.tests]]",
          directory.string(), plan.file.string());
  return tests;
}

std::vector<TestSet> load_tests(const Plan& plan, const run::TrainConfig& cell) {
  switch (cell.model.kind) {
    case model::Kind::language:
      return texts_of(plan, cell.data.prepared, cell.data.side);
    case model::Kind::masked:
      return {};
    case model::Kind::translation:
      break;
  }
  return load_tests(plan, fs::path(cell.data.prepared));
}

double Result::mean() const {
  if (scores.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0,
                                     [](double s, const TestScore& t) { return s + t.value(); });
  return sum / static_cast<double>(scores.size());
}

void fields(ConfigVisitor& visit, TestScore& s) {
  visit("test", s.test, "the test set");
  visit("bleu", s.bleu, "BLEU of its translation");
  visit("perplexity", s.perplexity, "perplexity per token of a language model; otherwise 0");
  visit("checksum", s.checksum, "64-bit XXH3 of the file of its translation");
}

void fields(ConfigVisitor& visit, Result& r) {
  visit("made_from", r.made_from, "checksum of configuration and evaluation");
  visit("corpus", r.corpus, "checksum of the prepared corpus and the texts of [[evaluate.tests]]");
  visit("updates", r.updates, "trained updates");
  visit("seconds", r.seconds, "seconds of training");
  visit("converged", r.converged, "whether the run is better than word frequencies");
  visit("reason", r.reason, "why the run did not converge");
  visit("dev_nll", r.dev_nll, "bits per token on the dev corpora");
  visit("unigram", r.unigram, "bits per token of word frequencies on the dev corpora");
  visit("signature", r.signature, "signature of BLEU");
  visit.tables("scores", r.scores, "on the test sets");
}

std::string fingerprint(const Plan& plan, const Cell& cell) {
  run::TrainConfig defaults, config = cell.config;
  for (auto* c : {&defaults, &config}) {
    if (c->train.workers == 0) c->train.workers = -1;  // independent of this machine's cores
    *c = run::resolve(*c);
  }
  std::string keys;
  for (const auto& d : run::differences(defaults, config, /*same_length=*/true)) {
    keys += d.key + " = " + d.now + "\n";
  }
  // A run may change on_nonfinite when it resumes. It is part of the fingerprint nevertheless, so
  // that a failed run is tried again with the new value.
  if (config.train.on_nonfinite != defaults.train.on_nonfinite) {
    keys += fmt::format("on_nonfinite = {}\n", static_cast<int>(config.train.on_nonfinite));
  }
  EvaluatePlan evaluate = plan.evaluate;
  evaluate.samples = EvaluatePlan{}.samples;  // affects only reports
  for (TestPlan& test : std::exchange(evaluate.tests, {})) {
    test.source.clear();  // texts are identified by their content
    test.reference.clear();
    keys += "[[tests]]\n" + changed_keys(test);
  }
  return to_hex(checksum(keys + "[evaluate]\n" + changed_keys(evaluate)));
}

std::string corpus_fingerprint(const Plan& plan, const fs::path& corpus) {
  if (!fs::exists(corpus / "prepared.toml")) return "";
  Checksum sum;
  for (const auto& file : data::load_manifest(corpus).files) sum.add(file.checksum + "\n");
  for (const auto& test : plan.evaluate.tests) {
    for (const auto& file : {test.source, test.reference}) {
      if (!fs::exists(file)) return "";
      sum.add(to_hex(checksum(read_file(file))) + "\n");
    }
  }
  return to_hex(sum.value());
}

fs::path translation_file(const fs::path& stem, const std::string& test) {
  return stem.string() + "." + test + ".txt";
}

void write_result(const fs::path& file, const Result& result) {
  replace_file(file, sealed(to_toml(result)));
}

Result read_result(const fs::path& file) {
  const std::string text = read_file(file);
  require(
      seal_of(text) != Seal::broken,
      "{}: was changed or damaged: its lines do not match the checksum in the first; remove it, "
      "and `residual study` scores the run again",
      file.string());
  Result result;
  read_toml(text, file.string(), [&](ConfigVisitor& visit) { fields(visit, result); });
  require(!result.made_from.empty(),
          "{}: is incomplete: it has no made_from; remove it, and `residual study` scores the run "
          "again",
          file.string());
  return result;
}

void check_translations(const fs::path& stem, const TestScore& score) {
  const fs::path file = translation_file(stem, score.test);
  require(score.checksum.empty() || to_hex(checksum(read_file(file))) == score.checksum,
          "{}: was changed or damaged: its checksum is not the one in {}.toml; remove both, and "
          "`residual study` scores the run again",
          file.string(), stem.string());
}

namespace {

TestScore score_text(const TestSet& test, const fs::path& path) {
  const auto models =
      decode::load_text_models({path}, decode::Precision::float32, model::Kind::language);
  const auto side =
      decode::TextSide::of(model::Directory::open(path, model::Check::never), test.target, false);
  decode::TextScore total;
  for (const auto& score : decode::TextScorer(models, side, {}).score(test.sources)) {
    total.add(score);
  }
  return {.test = test.name, .perplexity = total.perplexity(total.tokens)};
}

}  // namespace

std::vector<TestScore> translate_tests(const Plan& plan, const std::vector<TestSet>& tests,
                                       const fs::path& run, const fs::path& stem) {
  const fs::path model = model_of(plan.evaluate, run);
  std::vector<TestScore> scores;
  for (const auto& test : tests) {
    if (test.references.empty() && !test.sources.empty()) {
      scores.push_back(score_text(test, model));
      continue;
    }
    decode::TranslatorOptions options{.source = test.source, .target = test.target};
    options.text.sentences = decode::Sentences::keep;  // a line is a sentence of the test set
    options.search.beam = plan.evaluate.beam;
    options.search.length_penalty = test.length_penalty;
    decode::Translator translator({model}, options);
    metrics::Lines lines;
    std::string text;
    for (auto& translation : translator.translate(test.sources)) {
      lines.push_back(std::move(translation.outputs.front().text));
      text += lines.back() + "\n";
    }
    replace_file(translation_file(stem, test.name), text);
    const auto bleu = metrics::corpus_bleu(test.scored(lines), {test.references}, test.bleu);
    scores.push_back({.test = test.name, .bleu = bleu.score, .checksum = to_hex(checksum(text))});
  }
  return scores;
}

}  // namespace residual::study
