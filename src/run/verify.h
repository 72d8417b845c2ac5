#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace residual::run {

struct Verification {
  std::vector<std::string> checked;   // one line for each part
  std::vector<std::string> problems;  // none: it is sound
};

// Reads everything and goes on after a problem to find the others.
Verification verify(const fs::path& path);

}  // namespace residual::run
