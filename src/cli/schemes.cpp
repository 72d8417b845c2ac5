// residual schemes: lists the residual schemes with their equations, parameters and papers.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "cli/command.h"
#include "drawing/draw.h"
#include "schemes/listing.h"
#include "schemes/make.h"

namespace residual::cli {
namespace {

using schemes::Listing;

struct Options {
  std::string name;  // "": all
  int layers = 6;
  int64_t width = 512;
  bool json = false;
  bool draw = false;
};

constexpr int kDrawnLayers = 2;

// Counts the parameters of both stacks that do not belong to blocks.
int64_t parameter_count(const std::string& name, const Options& options) {
  Listing listing(options.width);
  schemes::make(
      listing,
      {.side = schemes::Side::encoder, .layers = options.layers, .other_layers = options.layers},
      {.name = name});
  Listing decoder(options.width);
  schemes::make(decoder,
                {.side = schemes::Side::decoder,
                 .layers = options.layers,
                 .other_layers = options.layers,
                 .blocks_per_layer = 3},
                {.name = name});
  int64_t count = 0;
  for (const auto* list : {&listing, &decoder}) {
    for (const auto& parameter : list->parameters()) count += parameter.size;
  }
  return count;
}

// "eta = 1.0": the scheme's keys in [model.residual] and their defaults.
std::vector<std::string> own_options(const std::string& name) {
  std::vector<std::string> all;
  for (const auto& [key, value] : schemes::option_values({.name = name})) {
    all.push_back(fmt::format("{} = {}", key, value));
  }
  return all;
}

void print(const Options& options) {
  nlohmann::json all = nlohmann::json::array();
  if (!options.name.empty()) check_typed([&] { schemes::find(options.name); });
  for (const auto& entry : schemes::registry()) {
    if (!options.name.empty() && entry.name != options.name) continue;
    const int64_t count = parameter_count(entry.name, options);
    if (options.json) {
      all.push_back({{"name", entry.name},
                     {"paper", entry.paper},
                     {"variants", entry.variants},
                     {"equations", entry.equations},
                     {"parameters", entry.parameters},
                     {"options", own_options(entry.name)},
                     {"parameter_count", count}});
      continue;
    }
    fmt::print("{:<11} {}\n", entry.name, entry.paper);
    for (const auto& equation : entry.equations) fmt::print("{:12}{}\n", "", equation);
    fmt::print("{:12}parameters per stack: {}; E{}D{} of width {}: {}\n", "", entry.parameters,
               options.layers, options.layers, options.width,
               format_count(static_cast<uint64_t>(count)));
    if (!entry.variants.empty()) {
      fmt::print("{:12}variants: {}\n", "", fmt::join(entry.variants, ", "));
    }
    const auto own = own_options(entry.name);
    if (!own.empty()) fmt::print("{:12}options: {}\n", "", fmt::join(own, ", "));
    fmt::print("\n");
  }
  if (options.json) {
    fmt::print("{}\n", all.dump(2));
  } else if (options.name.empty()) {
    fmt::print("x enters block f, x' leaves it; LN is LayerNorm; N blocks, L layers, width d.\n");
  }
}

}  // namespace

void add_schemes(CLI::App& root) {
  CLI::App* command =
      add_command(root, "schemes", "List the residual schemes with their equations",
                  {"residual schemes", "residual schemes resi-dual --layers 12 --width 256",
                   "residual schemes --json", "# a picture of what the scheme computes",
                   "residual schemes --draw resi-dual > resi-dual.svg"});
  const auto options = std::make_shared<Options>();
  command->add_option("name", options->name, "show only this scheme")
      ->type_name("NAME")
      ->group("Output");
  CLI::Option* const layers = command->add_option(
      "--layers", options->layers, "layers per stack, for the parameter count and --draw");
  layers->capture_default_str()->check(whole(1, 1000))->type_name("L")->group("Output");
  command->add_option("--width", options->width, "model width, for the parameter count")
      ->capture_default_str()
      ->check(whole(1, 65536))
      ->type_name("D")
      ->group("Output");
  CLI::Option* const json =
      command->add_flag("--json", options->json, "print JSON")->group("Output");
  command
      ->add_flag("--draw", options->draw,
                 fmt::format("print an image of the scheme as SVG, with {} layers unless --layers "
                             "says otherwise",
                             kDrawnLayers))
      ->excludes(json)
      ->group("Output");
  command->callback([options, layers] {
    if (!options->draw) return print(*options);
    if (options->name.empty()) throw CLI::RequiredError("NAME");
    check_typed([&] { schemes::find(options->name); });
    fmt::print("{}", drawing::draw({.name = options->name},
                                   layers->count() > 0 ? options->layers : kDrawnLayers));
  });
}

}  // namespace residual::cli
