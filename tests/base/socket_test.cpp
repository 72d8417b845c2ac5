#include "base/socket.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/error.h"
#include "support/free_port.h"

namespace residual {
namespace {

using namespace std::chrono_literals;

TEST(Socket, SaysOnceWhyNobodyIsReached) {
  const int port = test::free_port();
  testing::internal::CaptureStderr();
  EXPECT_THROW(Socket::connect("127.0.0.1", port, std::chrono::steady_clock::now() + 4s), Error);
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string reason = "yet: Connection refused; retrying";
  EXPECT_NE(text.find(reason), std::string::npos) << text;
  EXPECT_EQ(text.find(reason), text.rfind(reason)) << text;
}

}  // namespace
}  // namespace residual
