#include "serve/compat/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual::serve {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(Form, DecodesKeysAndValues) {
  EXPECT_THAT(parse_form("q=a+b%20c%2B&q=%C3%A4&empty=&bare&&"),
              UnorderedElementsAre(Pair("q", "a b c+"), Pair("q", "ä"), Pair("empty", ""),
                                   Pair("bare", "")));
  EXPECT_THAT(parse_form(""), IsEmpty());
}

TEST(PercentDecoded, LeavesWhatIsNoCode) {
  EXPECT_EQ(percent_decoded("100%, %zz %4 %41+"), "100%, %zz %4 A+");
  EXPECT_EQ(percent_decoded("%"), "%");
  EXPECT_EQ(percent_decoded("%4"), "%4");
  EXPECT_EQ(percent_decoded("%41"), "A");
}

}  // namespace
}  // namespace residual::serve
