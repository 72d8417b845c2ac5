#include "base/pages.h"

#include <gtest/gtest.h>

namespace residual {
namespace {

TEST(Pages, AreZeroAtFirstAndKeepTheirContentsAsTheyGrow) {
  Pages pages(1000);
  ASSERT_GE(pages.size(), 1000U);
  EXPECT_EQ(pages.data()[999], std::byte{0});
  pages.data()[0] = std::byte{1};
  pages.data()[pages.size() - 1] = std::byte{2};
  const size_t before = pages.size();
  pages.grow(10 * before);
  ASSERT_GE(pages.size(), 10 * before);
  EXPECT_EQ(pages.data()[0], std::byte{1});
  EXPECT_EQ(pages.data()[before - 1], std::byte{2});
  EXPECT_EQ(pages.data()[10 * before - 1], std::byte{0});
}

TEST(Pages, OfNoBytesAreNone) {
  const Pages pages;
  EXPECT_EQ(pages.data(), nullptr);
  EXPECT_EQ(pages.size(), 0U);
}

}  // namespace
}  // namespace residual
