#include "fetch/markup.h"

#include <gtest/gtest.h>

#include "support/temporary.h"

namespace residual::fetch {
namespace {

TEST(SegmentText, LosesTagsAndOuterBlanksOnly) {
  EXPECT_EQ(segment_text("<seg id=\"12\">  It\u2019s  here. </seg>\r"), "It\u2019s  here.");
  EXPECT_EQ(segment_text("  <seg id=\"1\">a</seg>"), "  a");
  EXPECT_EQ(segment_text("<seg id=\"x\">a</seg> b"), "<seg id=\"x\">ab");
  EXPECT_EQ(segment_text("<seg id=\"1"), "<seg id=\"1");
  EXPECT_EQ(segment_text(""), "");
}

TEST(WriteSegments, TakesOnlyLinesWithASegmentInTheOrderOfTheFiles) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "a", "<doc>\n<seg id=\"1\"> one </seg>\n<title>no</title>\n");
  replace_file(directory / "b", "<seg id=\"1\"> two </seg>");
  write_segments({directory / "b", directory / "a"}, directory / "out");
  EXPECT_EQ(read_file(directory / "out"), "two\none\n");
}

TEST(WithoutTags, RemovesTagsAndLeavesWhatOnlyLooksLikeThem) {
  EXPECT_EQ(without_tags("<b>bold</b> <br/>&lt;x&gt; &amp;amp;"), "bold <x> &amp;");
  EXPECT_EQ(without_tags("1 < 2 > 1, <>, a <b, </ 3>"), "1 < 2 > 1, <>, a <b, </ 3>");
  EXPECT_EQ(without_tags("<a <b>c"), "<a c");
  EXPECT_EQ(without_tags(std::string(100000, '<')), std::string(100000, '<'));
}

TEST(WithSingleBlanks, JoinsLinesAndTrims) {
  EXPECT_EQ(with_single_blanks(" a \t\n b\r\n"), "a b");
  EXPECT_EQ(with_single_blanks(" \n "), "");
}

TEST(ReplaceAll, DoesNotReadWhatItWrote) {
  std::string text = "aaa";
  replace_all(text, "a", "aa");
  EXPECT_EQ(text, "aaaaaa");
  remove_all(text, "aaaa");
  EXPECT_EQ(text, "aa");
}

}  // namespace
}  // namespace residual::fetch
