#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "base/config.h"

namespace residual {

std::string_view type_name(const toml::node& node);  // "a table"

// Fills structs from a parsed document. Keys that no field asked for are unknown. Errors begin with
// `name` and the line, unless `name` is empty. Nodes whose source has a path come from settings
// (settings.cpp): the path is "key=value", and errors begin with `name` and the path.
void read_table(const toml::table& root, const std::string& name, const ConfigFields& all_fields);

}  // namespace residual
