// residual verify: checks that a model, run, prepared corpus or checkpoint is complete and valid.

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "run/verify.h"

namespace residual::cli {
namespace {

void run(const std::vector<fs::path>& paths) {
  size_t problems = 0;
  const auto report = [&](const std::string& problem) {
    fmt::print("problem  {}\n", problem);
    ++problems;
  };
  for (const auto& path : paths) {
    try {
      const auto result = run::verify(path);
      for (const auto& line : result.checked) fmt::print("ok       {}\n", line);
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
      root, "verify", "Check a model, run, prepared corpus or checkpoint, and list all problems",
      {"residual verify runs/iwslt14", "residual verify models/en-de prepared/iwslt14-de-en",
       "residual verify runs/iwslt14/checkpoints/000004000.safetensors"});
  auto paths = std::make_shared<std::vector<fs::path>>();
  command->add_option("path", *paths, "directories, *.safetensors, *.residual or *.corpus files")
      ->required()
      ->type_name("PATH")
      ->group("Input");
  command->callback([paths] { run(*paths); });
}

}  // namespace residual::cli
