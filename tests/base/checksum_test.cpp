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

TEST(BlockChecksum, DoesNotDependOnThePieces) {
  std::string bytes(2 * BlockChecksum::kBlock + 12'345, 'q');
  bytes[BlockChecksum::kBlock] = 'x';
  for (const size_t piece : {size_t{777'777}, BlockChecksum::kBlock, bytes.size()}) {
    BlockChecksum pieces;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      pieces.add(std::string_view(bytes).substr(at, piece));
    }
    EXPECT_EQ(pieces.value(), BlockChecksum::of(bytes)) << piece;
  }
  const auto block = [&](size_t i) {
    return checksum(
        std::string_view(bytes).substr(i * BlockChecksum::kBlock, BlockChecksum::kBlock));
  };
  EXPECT_EQ(BlockChecksum::of(bytes), BlockChecksum::combine({block(0), block(1), block(2)}));
  EXPECT_EQ(BlockChecksum::of(""), checksum(""));
}

TEST(Checksum, DigitsComeBackAndNothingElseIsRead) {
  EXPECT_EQ(from_hex(to_hex(0x12ab)), 0x12abU);
  for (const char* text :
       {"", "12ab", "00000000000012AB", "00000000000012ag", "0x000000000012ab"}) {
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  }
}

TEST(Seal, NoticesEveryChangedByteAndEveryLostEnd) {
  const std::string text = sealed("a = 1\nb = 2\n");
  EXPECT_EQ(seal_of(text), Seal::intact);
  EXPECT_EQ(seal_of("a = 1\n"), Seal::missing);
  for (size_t at = 1; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    EXPECT_EQ(seal_of(changed), Seal::broken) << at;
    EXPECT_EQ(seal_of(text.substr(0, at)), Seal::broken) << at;
  }
}

}  // namespace
}  // namespace residual
