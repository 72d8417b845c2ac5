#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace residual::model {

// The YAML that Marian writes: keys with scalars, or with lists of scalars, on lines of their own.
// Scalars may be quoted either way. All are given as texts, a scalar as a list of one. Errors name
// `name` and the line; a key that comes twice is one.
std::map<std::string, std::vector<std::string>> parse_flat_yaml(std::string_view text,
                                                                const std::string& name);

}  // namespace residual::model
