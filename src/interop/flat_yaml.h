#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace residual::interop {

// Treatment of a repeated key.
enum class Twice { error, first };

// Parses the YAML subset of Marian's files: keys with scalars or with lists of scalars, each on a
// separate line. A key may also follow "? ", with its scalar after ": " on the next line. Scalars
// may have single or double quotes. All values are returned as strings, a scalar as a list of one,
// and null as an empty list. Errors give `name` and the line.
std::map<std::string, std::vector<std::string>> parse_flat_yaml(std::string_view text,
                                                                const std::string& name,
                                                                Twice twice = Twice::error);

// Returns the scalar as a whole number, or nothing if it is not one.
std::optional<int64_t> whole_number(std::string_view scalar);

}  // namespace residual::interop
