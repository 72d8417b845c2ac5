#pragma once

#include "metrics/metric.h"
#include "text/lines.h"

namespace residual::metrics {

// Returns the lines of a file ("-" is standard input). A file without lines is an Error.
Lines read_lines(const fs::path& path, text::Invalid invalid);

}  // namespace residual::metrics
