// residual generate: continues texts by a language model.

#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/command.h"
#include "cli/text_model/text_model.h"
#include "decode/json.h"

namespace residual::cli {
namespace {

using decode::Continuation;
using decode::Generator;
using nlohmann::ordered_json;

struct Options {
  TextModelOptions model;
  std::vector<std::string> prompts;
  fs::path input = "-", output = "-";
  text::Invalid invalid = text::Invalid::refuse;
  bool stream = false;
  bool json = false;
  bool continuation_only = false;

  int64_t n_best() const { return model.generator.search.n_best; }
};

constexpr size_t kAhead = 512;  // prompts on their way

std::string as_json(const std::string& prompt, uint64_t number, const Generator::Result& result,
                    const text::Vocabulary& vocabulary) {
  ordered_json out = {{"line", number}, {"prompt", prompt}};
  for (const Continuation& each : result.continuations) {
    std::vector<std::string> pieces = decode::symbols(each.tokens, vocabulary);
    out["continuations"].push_back(
        {{"text", each.text},
         {"score", decode::rounded(each.score)},
         {"finish_reason", each.is_cut ? "length" : "stop"},
         {"pieces", std::move(pieces)},
         {"log_probabilities", decode::rounded(each.log_probabilities)}});
  }
  return decode::dump(out) + '\n';
}

std::string as_text(const std::string& prompt, uint64_t number, const Generator::Result& result,
                    const Options& o) {
  std::string text;
  for (const Continuation& each : result.continuations) {
    if (o.n_best() > 1) text += fmt::format("{}\t{:.4f}\t", number, each.score);
    text += (o.continuation_only ? "" : prompt) + each.text + '\n';
  }
  return text;
}

// The prompts, one after another.
class Prompts {
 public:
  explicit Prompts(const Options& o) : given_(o.prompts) {
    if (given_.empty()) lines_.emplace(o.input, o.invalid);
  }

  std::optional<std::string> next() {
    if (lines_) return lines_->next();
    if (at_ == given_.size()) return std::nullopt;
    return given_[at_++];
  }

 private:
  const std::vector<std::string>& given_;
  size_t at_ = 0;
  std::optional<text::LineCursor> lines_;
};

// Writes each text while the model writes it.
void stream_all(const Options& o, Generator& generator, text::LineWriter& output) {
  Prompts prompts(o);
  uint64_t number = 0;
  while (auto prompt = prompts.next()) {
    if (!o.continuation_only) output.write(*prompt);
    generator
        .submit({.text = std::move(*prompt),
                 .progress = [&](std::string_view text) { output.write(text); },
                 .number = ++number})
        .get();
    output.write("\n");
  }
}

void generate_all(const Options& o, Generator& generator, text::LineWriter& output) {
  struct Job {
    std::string prompt;
    std::future<Generator::Result> result;
  };
  Prompts prompts(o);
  std::deque<Job> jobs;
  uint64_t read = 0, written = 0;
  const auto deliver = [&] {
    Job job = std::move(jobs.front());
    jobs.pop_front();
    const Generator::Result result = job.result.get();
    output.write(o.json ? as_json(job.prompt, ++written, result, *generator.side().vocabulary)
                        : as_text(job.prompt, ++written, result, o));
  };
  while (auto prompt = prompts.next()) {
    auto result = generator.submit({.text = *prompt, .number = ++read});
    jobs.push_back({std::move(*prompt), std::move(result)});
    if (jobs.size() == kAhead) deliver();
  }
  while (!jobs.empty()) deliver();
}

void run(const Options& o) {
  check_text_search(o.model.generator);
  if (o.stream && (o.json || o.model.generator.search.beam > 1)) {
    throw CLI::ValidationError("--stream writes one text as it comes: without --json and --beam");
  }
  text::LineWriter output(o.output);
  Generator generator(o.model.models, o.model.generator);
  (o.stream ? stream_all : generate_all)(o, generator, output);
  output.commit();
}

}  // namespace

void add_generate(CLI::App& root) {
  CLI::App* command = add_command(
      root, "generate", "Continue texts by a language model",
      {"residual generate --model runs/english --prompt 'This package contains'",
       "# three random continuations of every line",
       "residual generate --model runs/english --sample --beam 3 --n-best 3 --seed 7 prompts",
       "# as it is written",
       "residual generate --model runs/english --sample --top-p 0.9 --stream"});
  auto options = std::make_shared<Options>();
  add_text_model_options(*command, options->model, /*several=*/true);
  const std::string group = "Input and output";
  CLI::Option* const input = command->add_option("input", options->input, "prompts, one in a line")
                                 ->capture_default_str()
                                 ->type_name("PROMPTS")
                                 ->group(group);
  command->add_option("-p,--prompt", options->prompts, "prompt, instead of a file; repeatable")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->excludes(input)
      ->type_name("TEXT")
      ->group(group);
  command->add_option("-o,--output", options->output, "output file; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group(group);
  command->add_flag("--stream", options->stream, "write each text while the model writes it")
      ->group(group);
  command->add_flag("--json", options->json, "print a JSON object per prompt, with pieces")
      ->group(group);
  command
      ->add_flag("--continuation-only", options->continuation_only,
                 "print what follows the prompt, without the prompt")
      ->group(group);
  add_replace_invalid(*command, options->invalid, group);
  add_text_search_options(*command, options->model.generator);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
