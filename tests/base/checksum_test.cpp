#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace residual {
namespace {

TEST(Checksum, PiecesGiveTheSameAsTheWhole) {
  const std::string text(100'000, 'q');
  Checksum pieces;
  for (size_t at = 0; at < text.size(); at += 777)
    pieces.add(std::string_view(text).substr(at, 777));
  EXPECT_EQ(pieces.value(), checksum(text));
  EXPECT_NE(checksum(text), checksum(text + "q"));
  EXPECT_EQ(to_hex(checksum("")), "2d06800538d394c2");  // XXH3's published value for no input
}

}  // namespace
}  // namespace residual
