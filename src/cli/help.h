#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace residual::cli {

// Sets the layout of a root command's --help and messages: summary, usage, commands or options by
// group with their defaults, examples. Commands added afterwards inherit the layout.
void set_up_help(CLI::App& root);

// What a group of commands requires: the messages list its commands.
inline constexpr const char* kCommand = "a command";

// The parts of help texts and manual pages.
std::string path_of(const CLI::App* app);   // "residual bpe learn"
std::string usage_of(const CLI::App& app);  // "residual bpe learn [OPTIONS]"
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::string option_left(const CLI::Option& option);   // "-o, --output FILE"
std::string option_right(const CLI::Option& option);  // description and default
struct OptionGroup {
  std::string name;
  std::vector<const CLI::Option*> options;
};
// Returns the options by group, without hidden options and without a command's --help, which the
// root command lists.
std::vector<OptionGroup> option_groups(const CLI::App& app);

}  // namespace residual::cli
