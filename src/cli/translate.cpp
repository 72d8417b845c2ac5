// residual translate: translates lines of text, or a whole document.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/log.h"
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
  fs::path file;        // a document, instead of lines
  bool n_best = false;  // print n-best lists with scores
  bool json = false;

  text::Markup markup() const { return model.translator.text.markup; }
  // Texts are written as they are, and no line end is added to them.
  bool is_document() const {
    return markup() != text::Markup::none && !json && !n_best &&
           !model.translator.search.with_attention;
  }
};

constexpr size_t kLongLine = 64 << 10;  // bytes: such a line has a progress display, and its
                                        // translation is written sentence by sentence

// Reads the input lines with their prefixes. One thread calls next(), another delivered().
class Input {
 public:
  explicit Input(const Options& o)
      : lines_(o.files.input, o.files.invalid),
        is_whole_(o.markup() == text::Markup::html),
        ends_with_newline_(ends_with_newline(o.files.input)),
        prefix_(o.prefix) {
    if (!o.prefixes.empty()) prefixes_.emplace(o.prefixes, o.files.invalid);
    if (!o.phrases.empty()) phrases_.emplace(o.phrases, o.files.invalid);
    // No progress bar on the terminal that shows the translations.
    const bool apart = o.files.output != "-" || ::isatty(STDOUT_FILENO) == 0;
    if (lines_.size() > 0 && apart) progress_.emplace("translate", lines_.size(), "bytes");
  }

  std::optional<decode::SourceLine> next() {
    auto line = is_whole_ ? whole() : lines_.next();
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

  // The bytes of the first line that is not delivered yet.
  size_t current_size() {
    const std::lock_guard lock(mutex_);
    return on_the_way_.front();
  }
  // So many bytes of it are translated.
  void progressed(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!progress_ && !line_progress_ && on_the_way_.front() > kLongLine) {
      line_progress_.emplace(fmt::format("translate line {}", delivered_ + 1), on_the_way_.front(),
                             "bytes");
    }
    auto& progress = progress_ ? progress_ : line_progress_;
    if (progress) progress->add(bytes - shown_);
    shown_ = bytes;
  }
  void delivered() {
    const std::lock_guard lock(mutex_);
    if (progress_) progress_->add(on_the_way_.front() - shown_);
    if (line_progress_) line_progress_->finish();
    line_progress_.reset();
    on_the_way_.pop_front();
    shown_ = 0;
    ++delivered_;
  }
  bool ends_with_newline() const { return ends_with_newline_; }
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

  // All lines of the input as one; nothing the second time.
  std::optional<std::string> whole() {
    auto line = lines_.next();
    if (!line) return std::nullopt;
    std::string text = std::move(*line);
    while ((line = lines_.next())) text += '\n' + *line;
    if (ends_with_newline_) text += '\n';
    return text;
  }
  // Whether the last line of a file has an end; that of a pipe is taken to have one.
  static bool ends_with_newline(const fs::path& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (path == "-" || !fs::is_regular_file(path) || file.tellg() <= 0) return true;
    file.seekg(-1, std::ios::end);
    return file.get() == '\n';
  }

  text::LineCursor lines_;
  bool is_whole_, ends_with_newline_;
  std::string prefix_;
  std::optional<text::LineCursor> prefixes_, phrases_;
  uint64_t count_ = 0;
  std::mutex mutex_;
  std::deque<uint64_t> on_the_way_;  // bytes of the lines not delivered yet
  uint64_t shown_ = 0;               // of the first of them
  uint64_t delivered_ = 0;
  std::optional<Progress> progress_, line_progress_;
};

// Warns of implausible translations: of the first few by their lines, of the others by their
// number.
class Warnings {
 public:
  void look_at(const Translation& translation, uint64_t line) {
    const decode::Doubts& doubts = translation.outputs[0].doubts;
    if (!doubts.any() || ++count_ > kShown) return;
    std::vector<std::string_view> what;
    if (doubts.is_short) what.emplace_back("is much shorter than its source");
    if (doubts.repeats) what.emplace_back("repeats itself");
    if (doubts.is_copy) what.emplace_back("is its source, untranslated");
    log::warn("line {}: the translation {}", line, fmt::join(what, " and "));
  }
  void finish() const {
    if (count_ > kShown) {
      log::warn(
          "{} more translations are much shorter than their source, repeat themselves or are "
          "their source; --json marks each of them",
          format_count(count_ - kShown));
    }
  }

 private:
  static constexpr uint64_t kShown = 10;
  uint64_t count_ = 0;
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

// Writes translations in the format that the options choose.
class Writer {
 public:
  explicit Writer(const Options& o) : o_(o), output_(o.files.output) {}

  // A sentence of a long line need not wait for the others.
  void add(std::string_view text) {
    if (o_.json || o_.n_best || o_.model.translator.search.with_attention) return;
    begin_line();
    output_.write(text);
    written_ += text.size();
  }
  void end_line(const Translation& translation) {
    begin_line();
    ++line_;
    std::string text = o_.json            ? format_json(translation, line_, o_)
                       : o_.is_document() ? translation.outputs[0].text
                                          : format_text(translation, line_, o_);
    output_.write(std::string_view(text).substr(written_));
    written_ = 0;
  }
  void finish(bool ends_with_newline) {
    if (ends_lines() && line_ > 0 && ends_with_newline) output_.write("\n");
    output_.commit();
  }
  uint64_t lines() const { return line_; }

 private:
  // The lines of a document have ends only between them, and where the input has one.
  bool ends_lines() const { return o_.is_document() && o_.markup() == text::Markup::text; }
  void begin_line() {
    if (ends_lines() && line_ > 0 && written_ == 0) output_.write("\n");
  }

  const Options& o_;
  text::LineWriter output_;
  uint64_t line_ = 0;
  size_t written_ = 0;  // bytes of the line
};

void check_document(const Options& o) {
  if (o.markup() != text::Markup::html) return;
  if (!o.prefixes.empty() || !o.phrases.empty()) {
    throw CLI::ValidationError("--prefixes and --phrases need lines, not --markup html");
  }
  if (!o.json && (o.n_best || o.model.translator.search.with_attention)) {
    throw CLI::ValidationError("--n-best and --alignments with --markup html need --json");
  }
}

void run(const Options& o) {
  check_search(o.model);
  check_standard_input({o.files.input, o.prefixes, o.phrases, o.model.translator.terms,
                        o.model.translator.shortlist.file});
  if (!o.phrases.empty() && o.model.translator.search.sampling.is_on) {
    throw CLI::ValidationError("--phrases cannot be combined with --sample");
  }
  const decode::SearchOptions& search = o.model.translator.search;
  if (search.attention_layer != 0 && !search.needs_attention() &&
      o.markup() == text::Markup::none) {
    throw CLI::ValidationError(
        "--alignment-layer requires --alignments, --replace-unk, --coverage-penalty or --markup");
  }
  check_document(o);
  Input input(o);
  Writer output(o);
  Warnings warnings;
  const auto translator = load_translator(o.model);
  translator->translate({.next = [&] { return input.next(); },
                         .deliver =
                             [&](const Translation& translation) {
                               output.end_line(translation);
                               warnings.look_at(translation, output.lines());
                               input.delivered();
                             },
                         .stop = [&] { input.interrupt(); },
                         .progress =
                             [&](const decode::Progressed& done) {
                               if (input.current_size() > kLongLine) output.add(done.added);
                               input.progressed(done.source_bytes);
                             }});
  output.finish(input.ends_with_newline());
  input.finish();
  warnings.finish();
}

// Takes --file as the input. Its name says what it is, unless --markup does.
void take_file(Options& o, bool has_markup) {
  if (o.file.empty()) return;
  if (o.files.input != "-") throw CLI::ValidationError("give --file or INPUT, not both");
  o.files.input = o.file;
  if (has_markup) return;
  std::string ending = o.file.extension();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool is_html = ending == ".html" || ending == ".htm" || ending == ".xhtml";
  o.model.translator.text.markup = is_html ? text::Markup::html : text::Markup::text;
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

// Returns --markup.
const CLI::Option* add_line_rules(CLI::App& command, Options& o) {
  const std::string group = "Lines";
  Flags flags = add_translator_flags(command, o.model.translator, {group});
  command
      .add_option("--file", o.file,
                  "a document instead of lines: --markup html if its name ends in .html, .htm or "
                  ".xhtml, otherwise --markup text")
      ->type_name("FILE")
      ->group(group);
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
  return flags["markup"];
}

}  // namespace

void add_translate(CLI::App& root) {
  CLI::App* command = add_command(
      root, "translate", "Translate lines of text, or a document",
      {"echo 'Guten Morgen!' | residual translate --model models/de-en",
       "residual translate --model runs/iwslt14 test.de -o test.en --precision int8",
       "# a web page, with its tags",
       "residual translate --model models/de-en --file seite.html -o page.html",
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
  const CLI::Option* const markup = add_line_rules(*command, *options);
  const CLI::Option* const n_best = add_output_options(*command, *options);
  add_line_options(*command, options->files);
  command->callback([options, n_best, markup] {
    options->n_best = n_best->count() > 0;
    take_file(*options, markup->count() > 0);
    run(*options);
  });
}

}  // namespace residual::cli
