#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace residual::ops {

// Sentences packed into consecutive rows: sentence s is rows [offsets[s], offsets[s + 1]).
struct Segments {
  std::vector<int64_t> offsets = {0};

  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t rows() const { return offsets.back(); }
  int64_t length(int64_t s) const { return offsets[s + 1] - offsets[s]; }
  int64_t longest() const {
    int64_t most = 0;
    for (int64_t s = 0; s < count(); ++s) most = std::max(most, length(s));
    return most;
  }
};

}  // namespace residual::ops
