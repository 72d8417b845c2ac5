#include "text/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "support/error_of.h"
#include "support/temporary.h"

namespace residual::text {
namespace {

using testing::HasSubstr;

std::string transformed(const std::string& input, Invalid invalid = Invalid::refuse) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "in", input);
  transform_lines({.input = directory / "in", .output = directory / "out", .invalid = invalid}, [] {
    return [](std::string_view line, std::string& out) {
      if (line == "bad") fail("cannot be");
      out += fmt::format("<{}>", line);
    };
  });
  return read_file(directory / "out");
}

std::string error_of(const std::string& input) {
  return residual::test::error_of([&] { transformed(input); });
}

TEST(TransformLines, KeepsOrderOverManyBlocksAndAnyNumberOfThreads) {
  std::string input, expected;
  for (int i = 0; i < 200000; ++i) {
    input += fmt::format("{}\n", i);
    expected += fmt::format("<{}>\n", i);
  }
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    EXPECT_EQ(transformed(input), expected) << threads << " threads";
  }
}

TEST(TransformLines, OnlyANewlineEndsALineAndTheLastNeedsNone) {
  EXPECT_EQ(transformed(""), "");
  EXPECT_EQ(transformed("\n\n"), "<>\n<>\n");
  EXPECT_EQ(transformed("a\r\nb\x0b\xe2\x80\xa8"
                        "c"),
            "<a\r>\n<b\x0b\xe2\x80\xa8"
            "c>\n");
}

TEST(TransformLines, AByteOrderMarkIsNoTextAtTheBeginningAndNowhereElse) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(transformed(mark + "a\n" + mark + "b\n"), "<a>\n<" + mark + "b>\n");
  EXPECT_EQ(transformed(mark), "<>\n");
}

TEST(TransformLines, ALineMayBeLongerThanAnyBuffer) {
  const std::string line(10'000'000, 'x');
  EXPECT_EQ(transformed("a\n" + line + "\nb"), "<a>\n<" + line + ">\n<b>\n");
}

TEST(TransformLines, InvalidUtf8NamesFileLineAndByte) {
  EXPECT_THAT(error_of("one\ntwo\nth\xffree\n"), HasSubstr("in:3: byte 3 of the line (0xff)"));
  EXPECT_EQ(transformed("a\xc3\nb", Invalid::replace), "<a\xef\xbf\xbd>\n<b>\n");
}

TEST(TransformLines, AnErrorNamesItsLineAndLeavesNoFile) {
  std::string input;
  for (int i = 0; i < 100000; ++i) input += "good line\n";
  EXPECT_THAT(error_of(input + "bad\n" + input), HasSubstr("in:100001: cannot be"));
}

TEST(LineReader, GivesTheLinesBeforeOneThatIsNotValid) {
  const test::TemporaryDirectory directory;
  for (const std::string end : {"\n", "", "\nmore\nand the rest"}) {
    replace_file(directory / "in", "one\ntwo\nth\xffree" + end);
    LineCursor lines(directory / "in");
    EXPECT_EQ(lines.next(), "one");
    EXPECT_EQ(lines.next(), "two");
    EXPECT_THAT([&] { lines.next(); },
                testing::ThrowsMessage<Error>(HasSubstr("in:3: byte 3 of the line (0xff)")));
  }
}

TEST(LineReader, MissingFilesAndDirectoriesAreNamed) {
  EXPECT_THROW(LineReader("/nonexistent/file"), Error);
  EXPECT_THROW(LineReader("/"), Error);
}

}  // namespace
}  // namespace residual::text
