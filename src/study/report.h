#pragma once

#include "report/report.h"
#include "study/findings.h"

namespace residual::study {

// Tables, loss curves and what the runs' live probes saw, as far as the study is.
report::Report make_report(const Findings& findings);

// DIR/report/PLAN/: report.md, report.html, report.json, runs.csv, and a .csv and .svg for each
// figure.
// Returns that directory.
fs::path write_report(const Findings& findings);

}  // namespace residual::study
