#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace residual::interop {

// What to do with a key that is there already.
enum class Twice { error, first };

// The YAML that Marian's files are in: keys with scalars, or with lists of scalars, on lines of
// their own; a key may also stand after "? " and its scalar after ": " on the next line. Scalars
// may be quoted either way. All are given as texts, a scalar as a list of one, and what YAML calls
// null as an empty list. Errors name `name` and the line.
std::map<std::string, std::vector<std::string>> parse_flat_yaml(std::string_view text,
                                                                const std::string& name,
                                                                Twice twice = Twice::error);

// A scalar that is a whole number, and nothing if it is none.
std::optional<int64_t> whole_number(std::string_view scalar);

}  // namespace residual::interop
