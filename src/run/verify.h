#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace residual::run {

struct Verification {
  std::vector<std::string> checked;   // one line per part
  std::vector<std::string> problems;  // empty if everything is sound
};

// Reads everything and continues after a problem to find further ones.
Verification verify(const fs::path& path);

}  // namespace residual::run
