#pragma once

#include "run/verify.h"

namespace residual::study {

// Tells whether a directory is the output of `residual study`.
bool is_study(const fs::path& path);

// Checks every result, the translations it was computed from, and every run.
run::Verification verify(const fs::path& path);

}  // namespace residual::study
