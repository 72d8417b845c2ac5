#include "metrics/read.h"

#include "base/error.h"

namespace residual::metrics {

Lines read_lines(const fs::path& path, text::Invalid invalid) {
  Lines lines;
  text::for_each_line(
      path, invalid, [&](std::string_view line, uint64_t /*number*/) { lines.emplace_back(line); });
  require(!lines.empty(), "{}: is empty; expected one sentence per line",
          path == "-" ? "standard input" : path.string());
  return lines;
}

}  // namespace residual::metrics
