#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace residual {

// What a user can mend. The text says where, what was expected, what came and what to do, in lower
// case and without a prefix: `main` adds the program's name.
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

// "path: action: No space left on device", from errno.
[[noreturn]] void fail_errno(const std::string& path, const char* action);

}  // namespace residual
