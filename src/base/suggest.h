#pragma once

#include <span>
#include <string>
#include <string_view>

namespace residual {

// Returns `; did you mean "residual"?` for the closest known name, or nothing if none is close.
std::string suggestion(std::string_view unknown, std::span<const std::string> known);

}  // namespace residual
