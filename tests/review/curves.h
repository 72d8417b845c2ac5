#pragma once

#include <functional>
#include <string>

#include "review/records.h"

namespace residual::review {

// A curve over `count` records, every 100 updates.
inline Curve curve(int count, const std::function<double(int)>& value) {
  Curve made;
  for (int i = 0; i < count; ++i) {
    made.update.push_back(100.0 * (i + 1));
    made.value.push_back(value(i));
  }
  return made;
}

}  // namespace residual::review
