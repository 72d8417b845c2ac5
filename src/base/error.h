#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace residual {

// An error that the user can correct. Its message gives the place, the expected and the actual
// value, and the remedy, in lower case and without a prefix: `main` adds the program's name.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// Throws Error with "path: action: reason", where the reason is that of errno: "No space left on
// device".
[[noreturn]] void fail_errno(const std::string& path, const char* action);

}  // namespace residual
