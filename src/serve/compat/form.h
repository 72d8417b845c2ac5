#pragma once

#include <map>
#include <string>
#include <string_view>

namespace residual::serve {

// Decodes %XX; a % that no two hexadecimal digits follow stays as it is.
std::string percent_decoded(std::string_view text);

// Parses "key=value&key=value", the form of a URL's query and of an HTML form's body. In it, "+"
// stands for a space.
std::multimap<std::string, std::string> parse_form(std::string_view text);

}  // namespace residual::serve
