#pragma once

#include <string>

#include "base/files.h"
#include "support/paths.h"
#include "text/lines.h"

namespace residual::text {

inline fs::path bpe_file(const std::string& name) {
  return fs::path(test::fixtures()) / "bpe" / name;
}

// What a transform makes of all lines of a text.
inline std::string all_lines(const LineTransform& transform, const fs::path& file) {
  std::string out;
  for_each_line(file, Invalid::refuse, [&](std::string_view line, uint64_t) {
    transform(line, out);
    out += '\n';
  });
  return out;
}

}  // namespace residual::text
