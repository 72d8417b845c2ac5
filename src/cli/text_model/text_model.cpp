#include "cli/text_model/text_model.h"

#include "cli/command.h"

namespace residual::cli {
namespace {

// Keys of the group "" are for translations alone, or have a flag of their own.
const FlagRules& text_flags() {
  static const FlagRules rules = {
      .group = "Search",
      .exceptions = {{.key = "precision", .group = "Model"},
                     {.key = "language", .group = "Model", .type = "LANG"},
                     {.key = "pieces", .group = "Model"},
                     {.key = "n_best", .group = "Output"},
                     {.key = "max_length_factor", .group = "translations"},
                     {.key = "max_length_offset", .flag = "--max-tokens", .group = "translations"},
                     {.key = "alternatives", .group = "translations"},
                     {.key = "coverage_penalty", .group = "translations"},
                     {.key = "replace_unk", .group = "translations"},
                     {.key = "with_attention", .group = "translations"},
                     {.key = "attention_layer", .group = "translations"},
                     {.key = "sampling.is_on", .flag = "--sample"},
                     {.key = "sampling.", .group = "Sampling"}}};
  return rules;
}

Flags add_text_flags(CLI::App& command, decode::GeneratorOptions& options,
                     const std::vector<std::string>& groups) {
  return add_flags(
      command, [&](ConfigVisitor& visit) { fields(visit, options); }, text_flags(), groups);
}

}  // namespace

void add_text_model_options(CLI::App& command, TextModelOptions& o, bool several) {
  CLI::Option* const model =
      command
          .add_option("-m,--model", o.models,
                      several ? "model directory, run or bundle; repeat it for an ensemble"
                              : "model directory, run or bundle")
          ->required()
          ->expected(1)
          ->allow_extra_args(false)
          ->type_name("PATH")
          ->group("Model");
  if (several) model->take_all();
  add_text_flags(command, o.generator, {"Model"});
}

void add_text_search_options(CLI::App& command, decode::GeneratorOptions& o) {
  Flags flags = add_text_flags(command, o, {"Search", "Output", "Sampling"});
  const auto set_longest = [&o](int64_t tokens) { limit_length(o.search, tokens); };
  command.add_option_function<int64_t>("--max-tokens", set_longest, decode::kMaxTokens)
      ->check(in_range({.min = 1}, true))
      ->default_str(fmt::format("{:.0f}", o.search.max_length_offset))
      ->type_name("N")
      ->group("Search");
  flags["sampling.seed"]->check(not_negative());
  flags["diverse_strength"]->needs(flags["diverse_groups"]);
  for (const auto& [key, option] : flags) {
    if (key.starts_with("sampling.") && key != "sampling.is_on") {
      option->needs(flags["sampling.is_on"]);
    }
  }
}

void check_text_search(const decode::GeneratorOptions& o) {
  check_typed([&] {
    decode::check(o.search, [](const std::string& key) { return text_flags().flag_of(key); });
  });
}

}  // namespace residual::cli
