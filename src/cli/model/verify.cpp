// residual verify: checks that a model, run, prepared corpus or checkpoint is complete and valid.

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "run/verify.h"
#include "study/verify.h"

namespace residual::cli {
namespace {

struct Options {
  std::vector<fs::path> paths;
  bool accept = false;
};

run::Verification verify(const Options& o, const fs::path& path) {
  if (o.accept) return run::accept(path);
  return study::is_study(path) ? study::verify(path) : run::verify(path);
}

void run(const Options& o) {
  size_t problems = 0;
  const auto report = [&](const std::string& problem) {
    fmt::print("problem  {}\n", problem);
    ++problems;
  };
  for (const auto& path : o.paths) {
    try {
      const auto result = verify(o, path);
      for (const auto& line : result.checked) fmt::print("ok       {}\n", line);
      for (const auto& line : result.unchecked) fmt::print("note     {}\n", line);
      for (const auto& line : result.problems) report(line);
    } catch (const Error& error) {  // this path cannot be read; check the others
      report(error.what());
    }
  }
  require(problems == 0, "{} found",
          problems == 1 ? "1 problem" : fmt::format("{} problems", problems));
}

}  // namespace

void add_verify(CLI::App& root) {
  CLI::App* command = add_command(
      root, "verify",
      "Check a model, run, prepared corpus, checkpoint or study, and list all problems",
      {"residual verify runs/iwslt14", "residual verify models/en-de prepared/iwslt14-de-en",
       "residual verify runs/iwslt14/checkpoints/000004000.safetensors",
       "# after editing models/en-de/config.toml", "residual verify --accept models/en-de"});
  auto options = std::make_shared<Options>();
  command
      ->add_option("path", options->paths,
                   "directories, *.safetensors, *.residual or *.corpus files")
      ->required()
      ->type_name("PATH")
      ->group("Input");
  command
      ->add_flag(
          "--accept", options->accept,
          "accept changes of your own: write the checksums of model directories anew, unless "
          "they have other problems")
      ->group("Input");
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
