#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace residual::serve {

// Whether an Accept-Encoding header allows gzip: by its name or by "*", and not with q=0.
bool accepts_gzip(std::string_view accept_encoding);

std::string gzip(std::string_view text);

// The text of a gzip body. Throws an Error if it is damaged, incomplete or followed by other bytes.
// Nothing: it has more than `most` bytes; no more than those are ever inflated.
std::optional<std::string> gunzip(std::string_view body, size_t most);

}  // namespace residual::serve
