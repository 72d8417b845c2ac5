#pragma once

#include "base/files.h"

namespace residual::model {

// Throws an Error unless everything at `path` was written as a model or exported from one: a
// bundle, or a directory with only a model's files.
void require_replaceable(const fs::path& path);

}  // namespace residual::model
