#pragma once

#include "base/files.h"

namespace residual::model {

// Fails unless all that is at `path` was written as a model or exported from one: a bundle, or a
// directory of nothing but a model's files.
void require_replaceable(const fs::path& path);

}  // namespace residual::model
