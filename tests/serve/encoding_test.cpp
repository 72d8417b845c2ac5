#include "serve/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace residual::serve {
namespace {

TEST(AcceptEncoding, AllowsGzipUnlessItsQualityIsZero) {
  for (const char* header : {"gzip", "GZIP", "br, gzip;q=0.5", "*", "deflate, *;q=0.1"}) {
    EXPECT_TRUE(accepts_gzip(header)) << header;
  }
  for (const char* header :
       {"", "br", "identity", "gzip;q=0", "br, gzip; q=0.0, *;q=0.5", "*;q=0"}) {
    EXPECT_FALSE(accepts_gzip(header)) << header;
  }
}

TEST(Gzip, ComesBackAsItWas) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x')}) {
    EXPECT_EQ(gunzip(gzip(text), 100'000), text);
  }
  EXPECT_LT(gzip(std::string(100'000, 'x')).size(), 1000u);
}

TEST(Gunzip, StopsAtTheLimit) {
  const std::string bomb = gzip(std::string(64 << 20, ' '));
  EXPECT_LT(bomb.size(), 1u << 20);
  EXPECT_EQ(gunzip(bomb, 1 << 20), std::nullopt);
  EXPECT_EQ(gunzip(gzip("abcd"), 3), std::nullopt);
  EXPECT_EQ(gunzip(gzip("abcd"), 4), "abcd");
}

TEST(Gunzip, RefusesEveryTruncationAndDamage) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i * i);
  const std::string whole = gzip(text);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(gunzip(whole.substr(0, size), 1 << 20), Error) << size;
  }
  EXPECT_THROW(gunzip(whole + "x", 1 << 20), Error);
  EXPECT_THROW(gunzip("plain text", 1 << 20), Error);
  for (size_t at = 10; at < whole.size(); ++at) {  // after the header, which has free fields
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_THROW(gunzip(damaged, 1 << 20), Error) << at;
  }
}

}  // namespace
}  // namespace residual::serve
