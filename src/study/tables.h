#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "study/findings.h"
#include "study/paper.h"

namespace residual::study {

// A table of the paper in its layout, with this study's result beside each column. Depths and
// schemes that only the study has follow.
report::TextTable paper_table(const PaperTable& table, const Findings& findings);

// BLEU of schemes and schedules by depth.
report::TextTable grid_table(const Findings& findings);

// Dev perplexity of every seed by scheme, schedule and depth; runs that did not converge are
// marked.
report::TextTable perplexity_table(const Findings& findings);

// A table of all runs: state, perplexity, BLEU, significance, time.
report::TextTable run_table(const Findings& findings);

// A table of the commands that train each run.
report::TextTable command_table(const Findings& findings);

}  // namespace residual::study
