#pragma once

#include <string>
#include <vector>

#include "probe/measure.h"
#include "report/report.h"

namespace residual::probe {

struct MeasuredModel {
  std::string label;
  Measurement measurement;
};

// The figures of one or more models side by side, encoder first. Blocks and layers count from 1,
// as in the paper.
std::vector<report::Figure> model_figures(const std::vector<MeasuredModel>& models);

}  // namespace residual::probe
