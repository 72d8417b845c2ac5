#pragma once

#include <string>
#include <string_view>

// Lower-casing as Python's str.lower does it, which sacreBLEU uses.
namespace residual::metrics {

// Applies Unicode's full mapping without language-specific rules: a capital sigma at the end of a
// word becomes the final form. REQUIRES: well-formed UTF-8.
std::string lower(std::string_view text);

}  // namespace residual::metrics
