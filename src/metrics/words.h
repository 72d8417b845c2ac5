#pragma once

#include <string>
#include <string_view>

// Letter case as Python's str.lower sees it, which is what sacreBLEU's scores are made of.
namespace residual::metrics {

// Unicode's full mapping in no particular language: a capital sigma that ends a word becomes the
// final form. REQUIRES: well-formed UTF-8.
std::string lower(std::string_view text);

}  // namespace residual::metrics
