// residual score-pairs: computes the log-probability of given translations under a model.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/decoding.h"
#include "decode/json.h"

namespace residual::cli {
namespace {

using decode::ScoredLine;
using nlohmann::ordered_json;

struct Options {
  ModelOptions model;
  fs::path source, target, output = "-";
  text::Invalid invalid = text::Invalid::refuse;
  bool per_token = false;
  bool json = false;
  bool summary = false;
};

constexpr size_t kPairs = 4096;  // read together: several batches for every thread

// Reads the next kPairs lines of both files, fewer at the end.
struct Pairs {
  std::vector<std::string> sources, targets;
};

Pairs next_pairs(text::LineCursor& sources, text::LineCursor& targets, uint64_t before) {
  Pairs pairs;
  while (pairs.sources.size() < kPairs) {
    auto source = sources.next(), target = targets.next();
    require(source.has_value() == target.has_value(),
            "{} has {} lines, {} has more; both must have the same number of lines",
            source ? targets.name() : sources.name(), before + pairs.sources.size(),
            source ? sources.name() : targets.name());
    if (!source) break;
    pairs.sources.push_back(std::move(*source));
    pairs.targets.push_back(std::move(*target));
  }
  return pairs;
}

double mean(const ScoredLine& line) {
  return line.sum / static_cast<double>(line.log_probabilities.size());
}

std::string format(const ScoredLine& line, uint64_t number, const Options& o) {
  if (!o.json) {
    std::string text = fmt::format("{:.4f}\t{:.4f}", line.sum, mean(line));
    if (o.per_token) text += fmt::format("\t{:.4f}", fmt::join(line.log_probabilities, " "));
    return text + "\n";
  }
  ordered_json object = {{"line", number},
                         {"log_probability", decode::rounded(line.sum)},
                         {"per_token", decode::rounded(mean(line))}};
  if (o.per_token) {
    object["pieces"] = line.pieces;
    object["log_probabilities"] = decode::rounded(line.log_probabilities);
  }
  return decode::dump(object) + '\n';
}

// Totals over all pairs.
struct Total {
  uint64_t pairs = 0, tokens = 0;
  double sum = 0;

  void add(const ScoredLine& line) {
    ++pairs;
    tokens += line.log_probabilities.size();
    sum += line.sum;
  }
  std::string format(bool json) const {
    require(pairs > 0, "there are no pairs to score");
    const double per_token = sum / static_cast<double>(tokens);
    const double perplexity = std::exp(-per_token);
    if (!json) {
      return fmt::format(
          "{} pairs, {} tokens: log-probability {:.4f}, {:.4f} per token, perplexity {:.4f}\n",
          format_count(pairs), format_count(tokens), sum, per_token, perplexity);
    }
    return decode::dump({{"pairs", pairs},
                         {"tokens", tokens},
                         {"log_probability", decode::rounded(sum)},
                         {"per_token", decode::rounded(per_token)},
                         {"perplexity", decode::rounded(perplexity)}}) +
           '\n';
  }
};

void run(const Options& o) {
  check_standard_input({o.source, o.target});
  text::LineCursor sources(o.source, o.invalid), targets(o.target, o.invalid);
  text::LineWriter output(o.output);
  const auto translator = load_translator(o.model);
  Progress progress("score", 0, "pairs");
  Total total;
  for (;;) {
    const Pairs pairs = next_pairs(sources, targets, total.pairs);
    if (pairs.sources.empty()) break;
    std::string text;
    for (const auto& line : translator->score(pairs.sources, pairs.targets, total.pairs + 1)) {
      total.add(line);
      if (!o.summary) text += format(line, total.pairs, o);
    }
    output.write(text);
    progress.add(pairs.sources.size());
  }
  if (o.summary) output.write(total.format(o.json));
  output.commit();
  progress.finish();
}

}  // namespace

void add_score_pairs(CLI::App& root) {
  CLI::App* command =
      add_command(root, "score-pairs", "Compute the log-probability of translations under a model",
                  {"residual score-pairs --model models/de-en test.de test.en",
                   "# the perplexity of a test set",
                   "residual score-pairs --model models/de-en test.de test.en --summary",
                   "# which of two translations does the model prefer?",
                   "residual score-pairs --model models/de-en test.de a.en > a",
                   "residual score-pairs --model models/de-en test.de b.en | paste a - | "
                   "awk '{print ($1 > $3 ? \"a\" : \"b\")}'"});
  auto options = std::make_shared<Options>();
  add_model_options(*command, options->model);
  const std::string group = "Input and output";
  command->add_option("source", options->source, "source lines; - is standard input")
      ->required()
      ->type_name("SOURCE")
      ->group(group);
  command->add_option("target", options->target, "translations of the source lines")
      ->required()
      ->type_name("TARGET")
      ->group(group);
  command->add_option("-o,--output", options->output, "output file; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group(group);
  CLI::Option* const per_token =
      command
          ->add_flag("--per-token", options->per_token,
                     "also print the log-probability of each piece, </s> last")
          ->group(group);
  command->add_flag("--json", options->json, "print a JSON object per line")->group(group);
  command
      ->add_flag("--summary", options->summary, "print one line for all pairs, with the perplexity")
      ->excludes(per_token)
      ->group(group);
  add_replace_invalid(*command, options->invalid, group);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
