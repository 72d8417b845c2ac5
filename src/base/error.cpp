#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace residual {

void fail_errno(const std::string& path, const char* action) {
  const int code = errno;
  fail("{}: {}: {}", path, action, std::generic_category().message(code));
}

}  // namespace residual
