// residual fill and residual embed: masked models.

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/text_model/text_model.h"
#include "decode/json.h"
#include "decode/language/masked.h"

namespace residual::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  TextModelOptions model;
  fs::path input = "-", output = "-";
  text::Invalid invalid = text::Invalid::refuse;
  int64_t guesses = 5;
  bool json = false;
  bool normalise = false;
};

constexpr int64_t kLines = 32;  // that go through the model together

struct Loaded {
  std::shared_ptr<const decode::Weights> weights;
  decode::TextSide side;
};

Loaded load(const TextModelOptions& o) {
  const auto models =
      decode::load_text_models(o.models, o.generator.precision, model::Kind::masked);
  models[0]->pack();
  return {models[0], decode::TextSide::of(model::Directory::open(o.models[0], model::Check::never),
                                          o.generator.language, o.generator.pieces)};
}

// Reads lines, and writes what `made` gives for each, in order, on all cores.
template <class Make>
void for_lines(const Options& o, const Make& made) {
  text::LineCursor lines(o.input, o.invalid);
  text::LineWriter output(o.output);
  const Loaded loaded = load(o.model);
  for (uint64_t read = 0;;) {
    std::vector<std::string> some;
    while (std::ssize(some) < kLines * thread_count()) {
      auto line = lines.next();
      if (!line) break;
      some.push_back(std::move(*line));
    }
    if (some.empty()) break;
    std::vector<std::string> out(some.size());
    parallel_for(std::ssize(some), kLines, [&](int64_t begin, int64_t end) {
      decode::MaskedModel model(loaded.weights, loaded.side);
      const auto part = std::span(some).subspan(begin, end - begin);
      made(model, part, read + begin + 1, std::span(out).subspan(begin, end - begin));
    });
    for (const auto& text : out) output.write(text);
    read += some.size();
  }
  output.commit();
}

std::string filled_json(const decode::Filled& filled, uint64_t number,
                        const text::Vocabulary& vocabulary) {
  ordered_json masks = ordered_json::array();
  for (const auto& guesses : filled.guesses) {
    ordered_json mask = ordered_json::array();
    for (const auto& guess : guesses) {
      mask.push_back({{"piece", vocabulary.symbol(guess.token)},
                      {"probability", decode::rounded(std::exp(guess.log_probability))}});
    }
    masks.push_back(std::move(mask));
  }
  return decode::dump({{"line", number}, {"text", filled.text}, {"masks", masks}}) + '\n';
}

void run_fill(const Options& o) {
  std::shared_ptr<const text::Vocabulary> vocabulary;
  if (o.json) {
    vocabulary =
        decode::TextSide::of(model::Directory::open(o.model.models[0], model::Check::never), "",
                             /*pieces=*/true)
            .vocabulary;
  }
  for_lines(o, [&](decode::MaskedModel& model, std::span<const std::string> lines, uint64_t first,
                   std::span<std::string> out) {
    const auto filled = model.fill(lines, o.guesses, first);
    for (size_t i = 0; i < lines.size(); ++i) {
      out[i] = o.json ? filled_json(filled[i], first + i, *vocabulary) : filled[i].text + '\n';
    }
  });
}

void run_embed(const Options& o) {
  for_lines(o, [&](decode::MaskedModel& model, std::span<const std::string> lines, uint64_t first,
                   std::span<std::string> out) {
    auto means = model.embed(lines, first);
    for (size_t i = 0; i < lines.size(); ++i) {
      double norm = 0;
      for (const float x : means[i]) norm += double{x} * x;
      const auto scale = static_cast<float>(o.normalise && norm > 0 ? 1 / std::sqrt(norm) : 1);
      for (float& x : means[i]) x *= scale;
      out[i] = fmt::format("{}\n", fmt::join(means[i], "\t"));
    }
  });
}

void add_lines(CLI::App& command, Options& o) {
  add_text_model_options(command, o.model, /*several=*/false);
  const std::string group = "Input and output";
  command.add_option("input", o.input, "lines of text")
      ->capture_default_str()
      ->type_name("FILE")
      ->group(group);
  command.add_option("-o,--output", o.output, "output file; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group(group);
  add_replace_invalid(command, o.invalid, group);
}

}  // namespace

void add_fill(CLI::App& root) {
  CLI::App* command =
      add_command(root, "fill", "Fill the gaps of texts by a masked model",
                  {"echo 'This <mask> contains the library.' | residual fill --model runs/masked"});
  auto options = std::make_shared<Options>();
  add_lines(*command, *options);
  command
      ->add_flag("--json", options->json,
                 "print a JSON object per line, with the likeliest pieces of each mask")
      ->group("Input and output");
  command->add_option("--guesses", options->guesses, "pieces for each mask in JSON")
      ->check(whole(1, 100))
      ->capture_default_str()
      ->type_name("N")
      ->group("Input and output");
  command->callback([options] { run_fill(*options); });
}

void add_embed(CLI::App& root) {
  CLI::App* command =
      add_command(root, "embed", "Print a vector for each line of text, by a masked model",
                  {"residual embed --model runs/masked sentences > vectors.tsv"});
  auto options = std::make_shared<Options>();
  add_lines(*command, *options);
  command->add_flag("--normalise", options->normalise, "divide each vector by its length")
      ->group("Input and output");
  command->callback([options] { run_embed(*options); });
}

}  // namespace residual::cli
