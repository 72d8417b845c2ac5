#pragma once

#include <string>

#include "base/error.h"

namespace residual::test {

// The text of the Error that `body` throws; "" if it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace residual::test
