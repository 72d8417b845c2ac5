#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/config.h"

namespace residual::cli {

// How the flag of a key differs from what the key alone gives: "no_repeat_ngram" is
// --no-repeat-ngram of the command's default group. Empty members take what the key gives.
struct FlagRule {
  std::string key;  // dotted; "sampling." stands for all keys below it
  std::string flag = {};
  std::string group = {};
  std::string type = {};  // of the value, in the help
};

struct FlagRules {
  std::string group;  // of keys without a rule
  std::vector<FlagRule> exceptions = {};

  std::string flag_of(const std::string& key) const;
  std::string group_of(const std::string& key) const;
  std::string type_of(const std::string& key, const char* usual) const;
};

// The options of a command by their keys.
using Flags = std::map<std::string, CLI::Option*>;

// A flag for each key whose group is among `groups`: its default, range and meaning are those of
// the fields. The structs must live as long as the command.
Flags add_flags(CLI::App& command, const ConfigFields& all_fields, const FlagRules& rules,
                const std::vector<std::string>& groups);

}  // namespace residual::cli
