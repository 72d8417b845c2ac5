#pragma once

#include <vector>

#include "base/files.h"
#include "report/report.h"
#include "review/records.h"

namespace residual::review {

// The report of one run: warnings, learning curves, learning rate, gradients, speed, samples.
report::Report report_of(const Records& run);

// Several runs in the same charts. Their names should differ.
report::Report compare(const std::vector<Records>& runs);

// Writes report.html into the directory of a run, in place of an earlier one.
void write_report(const fs::path& run);

}  // namespace residual::review
