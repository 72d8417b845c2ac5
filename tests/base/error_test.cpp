#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace residual {
namespace {

TEST(Require, FormatsOnlyWhenItFails) {
  require(true, "never {}", 1);
  try {
    require(2 > 3, "{}: expected {}, got {}", "where", 2, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "where: expected 2, got 3");
  }
}

TEST(FailErrno, SaysTheSystemsReason) {
  errno = ENOSPC;
  try {
    fail_errno("disk", "cannot write");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "disk: cannot write: No space left on device");
  }
}

}  // namespace
}  // namespace residual
