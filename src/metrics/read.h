#pragma once

#include "metrics/metric.h"
#include "text/lines.h"

namespace residual::metrics {

// A file's lines ("-" is standard input) without the white space that ends them, '\r' included,
// as sacreBLEU reads them. A file without lines is an Error.
Lines read_lines(const fs::path& path, text::Invalid invalid);

}  // namespace residual::metrics
