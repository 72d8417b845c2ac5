#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace residual::fuzz {

inline std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Runs `body`. An Error is a valid result for any input; any other exception is a finding.
template <class Body>
int allowing_errors(Body&& body) {
  try {
    body();
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace residual::fuzz
