// residual score-text: the perplexity of text under a language model.

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/text_model/text_model.h"
#include "cli/text_model/text_scores.h"

namespace residual::cli {
namespace {

using decode::TextScore;

struct Options {
  TextModelOptions model;
  std::vector<fs::path> inputs;
  fs::path output = "-";
  text::Invalid invalid = text::Invalid::refuse;
  decode::TextScoreOptions scoring;
  bool by_line = false;
  bool each = false;
  bool json = false;
};

std::string one_line(const TextScore& s, bool json) {
  if (json) return text_score_json(s);
  return fmt::format("{:.4f}\t{}\t{:.4f}\n", s.log_probability, s.tokens, s.perplexity(s.tokens));
}

void run(Options o) {
  if (o.inputs.empty()) o.inputs = {"-"};
  check_standard_input(o.inputs);
  text::LineWriter output(o.output);
  const decode::GeneratorOptions& g = o.model.generator;
  const decode::TextScorer scorer(
      decode::load_text_models(o.model.models, g.precision, model::Kind::language),
      decode::TextSide::of(model::Directory::open(o.model.models[0], model::Check::never),
                           g.language, g.pieces),
      o.scoring);
  const TextScore total =
      score_files(scorer, {.files = o.inputs, .invalid = o.invalid, .by_line = o.by_line},
                  [&](const TextScore& score) {
                    if (o.each) output.write(one_line(score, o.json));
                  });
  if (!o.each) output.write(o.json ? text_score_json(total) : text_score_table(total));
  output.commit();
}

}  // namespace

void add_score_text(CLI::App& root) {
  CLI::App* command = add_command(
      root, "score-text", "Compute the perplexity of text under a language model",
      {"residual score-text --model runs/english test.txt", "# the log-probability of each line",
       "residual score-text --model runs/english --lines --each sentences"});
  auto options = std::make_shared<Options>();
  add_text_model_options(*command, options->model, /*several=*/true);
  const std::string group = "Input and output";
  command
      ->add_option("input", options->inputs,
                   "files of documents, separated by empty lines; default: standard input")
      ->type_name("FILE")
      ->group(group);
  command->add_option("-o,--output", options->output, "output file; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group(group);
  command->add_flag("--lines", options->by_line, "every line is a document")->group(group);
  command
      ->add_flag("--each", options->each,
                 "print log-probability, tokens and perplexity of each document")
      ->group(group);
  command->add_flag("--json", options->json, "print JSON")->group(group);
  add_replace_invalid(*command, options->invalid, group);
  const std::string windows = "Windows";
  command
      ->add_option("--window", options->scoring.window,
                   "tokens that the model reads at once, at most; 0: all its positions")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group(windows);
  command
      ->add_option("--context", options->scoring.context,
                   "of a long document, tokens of each window that repeat the end of the window "
                   "before; default: half of the window")
      ->check(not_negative())
      ->type_name("N")
      ->group(windows);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
