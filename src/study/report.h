#pragma once

#include "report/report.h"
#include "study/findings.h"

namespace residual::study {

// Reports the study so far: tables, loss curves and the measurements of the runs' live probes.
report::Report make_report(const Findings& findings);

// Writes report.md, report.html, report.json, runs.csv, and a .csv and .svg for each figure to
// DIR/report/PLAN/. Returns that directory.
fs::path write_report(const Findings& findings);

}  // namespace residual::study
