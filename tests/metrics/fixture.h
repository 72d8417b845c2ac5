#pragma once

#include <string>
#include <string_view>

#include "metrics/read.h"
#include "support/paths.h"

namespace residual::metrics::test {

inline Lines lines_of(const std::string& name) {
  return read_lines(fs::path(residual::test::fixtures()) / "metrics" / name, text::Invalid::refuse);
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace residual::metrics::test
