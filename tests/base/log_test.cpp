#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace residual {
namespace {

TEST(Log, GoesToStandardErrorFromItsLevelUp) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log::set_level(log::Level::warning);
  log::info("not {}", "this");
  log::warn("but {}", "this");
  log::set_level(log::Level::info);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("warning: but this\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("not this"), std::string::npos) << text;
}

}  // namespace
}  // namespace residual
