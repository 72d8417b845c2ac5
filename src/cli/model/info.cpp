// residual info: describes a model, run, prepared corpus or checkpoint.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "cli/command.h"
#include "run/artifact.h"

namespace residual::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<fs::path> paths;
  bool json = false;
};

std::string scalar(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned() || (value.is_number_integer() && value >= 0)) {
    return format_count(value.get<uint64_t>());
  }
  return value.dump();
}

// Prints "key: value"; nested values are indented below their key.
void print(const ordered_json& object, size_t indent) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      fmt::print("{:{}}{}:\n", "", indent, key);
      print(value, indent + 2);
      continue;
    }
    std::vector<std::string> texts;
    for (const auto& each : value.is_array() ? value : ordered_json::array({value})) {
      texts.push_back(scalar(each));
    }
    fmt::print("{:{}}{}: {}\n", "", indent, key,
               texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", ")));
  }
}

void run(const Options& o) {
  ordered_json all = ordered_json::array();
  for (const auto& path : o.paths) {
    all.push_back(run::describe(path));
    if (o.json) continue;
    if (all.size() > 1) fmt::print("\n");
    print(all.back(), 0);
  }
  if (!o.json) return;
  fmt::print(
      "{}\n",
      (all.size() == 1 ? all[0] : all).dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

void add_info(CLI::App& root) {
  CLI::App* command =
      add_command(root, "info", "Describe a model, run, prepared corpus or checkpoint",
                  {"residual info models/en-de", "residual info runs/iwslt14 --json"});
  auto options = std::make_shared<Options>();
  command
      ->add_option("path", options->paths,
                   "directories, *.safetensors, *.residual or *.corpus files")
      ->required()
      ->type_name("PATH")
      ->group("Input and output");
  command->add_flag("--json", options->json, "print JSON")->group("Input and output");
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
