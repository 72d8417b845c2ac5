// residual translate: translates text, one sentence per line.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/decoding.h"
#include "decode/json.h"

namespace residual::cli {
namespace {

using decode::Output;
using decode::Translation;

struct Options {
  ModelOptions model;
  text::TransformLines files;
  std::string prefix;
  fs::path prefixes, phrases;
  bool n_best = false;  // print n-best lists with scores
  bool json = false;
};

// Reads the input lines with their prefixes. One thread calls next(), another delivered().
class Input {
 public:
  explicit Input(const Options& o) : lines_(o.files.input, o.files.invalid), prefix_(o.prefix) {
    if (!o.prefixes.empty()) prefixes_.emplace(o.prefixes, o.files.invalid);
    if (!o.phrases.empty()) phrases_.emplace(o.phrases, o.files.invalid);
    // No progress bar on the terminal that shows the translations.
    const bool apart = o.files.output != "-" || ::isatty(STDOUT_FILENO) == 0;
    if (lines_.size() > 0 && apart) progress_.emplace("translate", lines_.size(), "bytes");
  }

  std::optional<decode::SourceLine> next() {
    auto line = lines_.next();
    for (auto* file : {&prefixes_, &phrases_}) {
      require(line || !*file || !(*file)->next(), "{}: has {} lines, {} has more", lines_.name(),
              count_, *file ? (*file)->name() : "");
    }
    if (!line) return std::nullopt;
    ++count_;
    decode::SourceLine given = {std::move(*line), prefixes_ ? beside(*prefixes_) : prefix_};
    if (phrases_) given.phrases = split_phrases(beside(*phrases_));
    const std::lock_guard lock(mutex_);
    on_the_way_.push_back(given.text.size() + 1);
    return given;
  }
  // Waiting reads of prefixes or phrases return nothing; their errors are not reported.
  void interrupt() {
    lines_.interrupt();
    for (auto* file : {&prefixes_, &phrases_}) {
      if (*file) (*file)->interrupt();
    }
  }

  void delivered() {
    const std::lock_guard lock(mutex_);
    if (progress_) progress_->add(on_the_way_.front());
    on_the_way_.pop_front();
  }
  void finish() {
    if (progress_) progress_->finish();
  }

 private:
  // Reads the line of `file` that belongs to the last input line.
  std::string beside(text::LineCursor& file) const {
    auto line = file.next();
    require(line.has_value(),
            "{}: has {} lines, {} has more; both must have the same number of lines", file.name(),
            count_ - 1, lines_.name());
    return std::move(*line);
  }
  // Splits a line of phrases at tabs.
  static std::vector<std::string> split_phrases(std::string_view line) {
    std::vector<std::string> phrases;
    while (!line.empty()) {
      const size_t end = std::min(line.find('\t'), line.size());
      const std::string_view phrase = line.substr(0, end);
      if (phrase.find_first_not_of(" \r") != std::string_view::npos) phrases.emplace_back(phrase);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return phrases;
  }

  text::LineCursor lines_;
  std::string prefix_;
  std::optional<text::LineCursor> prefixes_, phrases_;
  uint64_t count_ = 0;
  std::mutex mutex_;
  std::deque<uint64_t> on_the_way_;  // bytes of the lines not delivered yet
  std::optional<Progress> progress_;
};

// Formats "source-target" for each piece and the source piece that it attends to most, counted from
// 0. Pieces that attend most to </s> are left out.
std::string alignment(const Output& output) {
  std::string text;
  for (size_t i = 0; i < output.attention.size(); ++i) {
    const auto& row = output.attention[i];
    const auto most = std::max_element(row.begin(), row.end());
    if (most == row.end() || *most < output.attention_to_end[i]) continue;
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", most - row.begin(), i);
  }
  return text;
}

std::string format_json(const Translation& translation, uint64_t line, const Options& o) {
  nlohmann::ordered_json object = {{"line", line}};
  object.update(decode::to_json(translation, o.model.translator.search.with_attention));
  return decode::dump(object) + '\n';
}

// Formats "text", or an n-best list as Moses and Marian do: "0 ||| text ||| F0= sum ||| score".
std::string format_text(const Translation& translation, uint64_t line, const Options& o) {
  std::string text;
  for (const Output& output : translation.outputs) {
    if (o.n_best) text += fmt::format("{} ||| ", line - 1);
    text += output.text;
    if (o.model.translator.search.with_attention) text += " ||| " + alignment(output);
    if (o.n_best)
      text += fmt::format(" ||| F0= {:.4f} ||| {:.4f}", output.log_probability(), output.score);
    text += '\n';
  }
  return text;
}

void run(const Options& o) {
  check_search(o.model);
  check_standard_input({o.files.input, o.prefixes, o.phrases, o.model.translator.terms,
                        o.model.translator.shortlist.file});
  if (!o.phrases.empty() && o.model.translator.search.sampling.is_on) {
    throw CLI::ValidationError("--phrases cannot be combined with --sample");
  }
  const decode::SearchOptions& search = o.model.translator.search;
  if (search.attention_layer != 0 && !search.needs_attention()) {
    throw CLI::ValidationError(
        "--alignment-layer requires --alignments, --replace-unk or --coverage-penalty");
  }
  Input input(o);
  text::LineWriter output(o.files.output);
  const auto translator = load_translator(o.model);
  uint64_t line = 0;
  translator->translate({.next = [&] { return input.next(); },
                         .deliver =
                             [&](const Translation& translation) {
                               ++line;
                               output.write(o.json ? format_json(translation, line, o)
                                                   : format_text(translation, line, o));
                               input.delivered();
                             },
                         .stop = [&] { input.interrupt(); }});
  output.commit();
  input.finish();
}

// Returns --n-best: given, even as 1, it asks for lists with scores.
const CLI::Option* add_output_options(CLI::App& command, Options& o) {
  const std::string group = "Output";
  Flags flags = add_translator_flags(command, o.model.translator, {group});
  flags["n_best"]->default_str("");
  flags["with_attention"]->description(
      "print for each piece the source piece that it attends to most; with --json, its attention "
      "to all");
  flags["attention_layer"]->description(
      "decoder layer of --alignments, --replace-unk and --coverage-penalty, counted from the top");
  command
      .add_flag(
          "--json", o.json,
          "print one JSON object per line: translations, scores, pieces and log-probabilities")
      ->group(group);
  return flags["n_best"];
}

void add_line_rules(CLI::App& command, Options& o) {
  const std::string group = "Lines";
  add_translator_flags(command, o.model.translator, {group});
  CLI::Option* prefix =
      command.add_option("--prefix", o.prefix, "whole words that every translation begins with")
          ->type_name("TEXT")
          ->group(group);
  command.add_option("--prefixes", o.prefixes, "file with one prefix per input line")
      ->excludes(prefix)
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--phrases", o.phrases,
                  "file with one line per input line: phrases of whole words, separated by tabs, "
                  "that the translation contains")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void add_translate(CLI::App& root) {
  CLI::App* command = add_command(
      root, "translate", "Translate text, one sentence per line",
      {"echo 'Guten Morgen!' | residual translate --model models/de-en",
       "residual translate --model runs/iwslt14 test.de -o test.en --precision int8",
       "# the five best translations with scores, from an ensemble of two models",
       "residual translate --model models/a --model models/b --n-best 5 test.de",
       "# the mean of all checkpoints of a run",
       "residual translate --model runs/iwslt14 --average test.de",
       "# a glossary that all translations follow",
       "residual translate --model models/de-en --terms glossary.tsv test.de",
       "# four random translations of each line",
       "residual translate --model models/de-en --sample --top-k 10 --beam 4 --n-best 4 test.de"});
  auto options = std::make_shared<Options>();
  add_model_options(*command, options->model);
  add_search_options(*command, options->model.translator);
  add_line_rules(*command, *options);
  const CLI::Option* const n_best = add_output_options(*command, *options);
  add_line_options(*command, options->files);
  command->callback([options, n_best] {
    options->n_best = n_best->count() > 0;
    run(*options);
  });
}

}  // namespace residual::cli
