#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace residual::run {

struct Verification {
  std::vector<std::string> checked;    // one line per part
  std::vector<std::string> unchecked;  // what has no checksum, so that some damage is not noticed
  std::vector<std::string> problems;   // empty if everything is sound
};

// Reads everything and continues after a problem to find further ones.
Verification verify(const fs::path& path);

// Writes the checksums of a model directory anew, or of the models of a run, after a change by the
// user. Does nothing if there are problems other than checksums.
Verification accept(const fs::path& path);

}  // namespace residual::run
