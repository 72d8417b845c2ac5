#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "study/findings.h"
#include "study/paper.h"

namespace residual::study {

// A table of the paper in its own layout: beside each of its columns the same of this study.
// Depths and schemes of the study that the paper does not have follow.
report::TextTable paper_table(const PaperTable& table, const Findings& findings);

// Schemes and schedules by depth.
report::TextTable grid_table(const Findings& findings);

// Every run: state, perplexity, BLEU, significance, time.
report::TextTable run_table(const Findings& findings);

// The same for programs: a line of comma-separated values for each finished run, with what it was
// trained as (scheme, layers, schedule, peak rate, seed, commit) and what came of it.
std::string runs_csv(const Findings& findings);

// The command that trains each run.
report::TextTable command_table(const Findings& findings);

}  // namespace residual::study
