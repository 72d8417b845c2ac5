#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace residual::fuzz {

inline std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Whatever the input is, an Error is an answer; anything else that is thrown is a finding.
template <class Body>
int allowing_errors(Body&& body) {
  try {
    body();
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace residual::fuzz
