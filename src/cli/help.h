#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace residual::cli {

// --help and --version of a root command, in our layout: summary, usage, commands or options by
// group with their defaults, examples. Commands added afterwards inherit it.
void set_up_help(CLI::App& root);

// What help texts and manual pages are made of.
std::string path_of(const CLI::App* app);   // "residual bpe learn"
std::string usage_of(const CLI::App& app);  // "residual bpe learn [OPTIONS]"
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::string option_left(const CLI::Option& option);   // "-o, --output FILE"
std::string option_right(const CLI::Option& option);  // its meaning and default
struct OptionGroup {
  std::string name;
  std::vector<const CLI::Option*> options;
};
// Without hidden options, and without a command's own --help: the root's stands for it.
std::vector<OptionGroup> option_groups(const CLI::App& app);

}  // namespace residual::cli
