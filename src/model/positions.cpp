#include "model/positions.h"

#include <cmath>

namespace residual::model {

void sinusoid(int64_t i, std::span<float> row, Form form) {
  const size_t half = row.size() / 2;
  const Conventions by = conventions(form);
  const auto p = static_cast<double>(by.first_position + i);
  const auto steps = static_cast<double>(by.ends_above_lowest ? half : half - 1);
  for (size_t j = 0; j < half; ++j) {
    const double w = std::pow(10000.0, -static_cast<double>(j) / steps);
    row[j] = static_cast<float>(std::sin(p * w));
    row[half + j] = static_cast<float>(std::cos(p * w));
  }
}

}  // namespace residual::model
