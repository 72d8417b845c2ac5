#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace residual::decode {

// Parts of a text that each pass `fits`, in order, without the white space between them. A text
// that does not fit is cut into its sentences (after . ! ? ; and their full-width forms, before
// white space), a sentence at the white space nearest to its middle, a word at its middle, until
// all parts fit. REQUIRES: text is UTF-8 and one character fits.
std::vector<std::string_view> split_to_fit(std::string_view text,
                                           const std::function<bool(std::string_view)>& fits);

}  // namespace residual::decode
