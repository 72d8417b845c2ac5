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

void rotation(int64_t i, double base, std::span<float> row) {
  const size_t half = row.size() / 2;
  for (size_t j = 0; j < half; ++j) {
    const double power = -static_cast<double>(j) / static_cast<double>(half);
    const double angle = static_cast<double>(i) * std::pow(base, power);
    row[j] = static_cast<float>(std::cos(angle));
    row[half + j] = static_cast<float>(std::sin(angle));
  }
}

}  // namespace residual::model
