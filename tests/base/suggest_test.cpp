#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/memory.h"

namespace residual {
namespace {

TEST(Suggestion, NamesTheClosestKnownWord) {
  const std::vector<std::string> known = {"tokenize", "detokenize", "score", "bpe"};
  EXPECT_EQ(suggestion("tokenise", known), "; did you mean \"tokenize\"?");
  EXPECT_EQ(suggestion("socre", known), "; did you mean \"score\"?");
  EXPECT_EQ(suggestion("something-else", known), "");
  EXPECT_EQ(suggestion("x", known), "");
}

TEST(Suggestion, NamesAnAbbreviationOrWhatItStandsFor) {
  const std::vector<std::string> known = {"--ref", "--replace-invalid"};
  EXPECT_EQ(suggestion("--reference", known), "; did you mean \"--ref\"?");
  EXPECT_EQ(suggestion("--replace", known), "; did you mean \"--replace-invalid\"?");
  EXPECT_EQ(suggestion("--", known), "");
}

// Names come from files, too.
TEST(Suggestion, TakesNoMemoryForAKnownWordOfMegabytes) {
  const std::vector<std::string> known = {std::string(4'000'000, 'x'), "encoder.layers.0.weight"};
  const int64_t before = peak_memory();
  EXPECT_EQ(suggestion("encoder.layer.0.weight", known),
            "; did you mean \"encoder.layers.0.weight\"?");
  EXPECT_LT(peak_memory() - before, 100'000'000);
}

}  // namespace
}  // namespace residual
