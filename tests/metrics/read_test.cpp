#include "metrics/read.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary.h"

namespace residual::metrics {
namespace {

TEST(ReadLines, OnlyNewlinesEndLinesAndTheLastNeedsNone) {
  const residual::test::TemporaryDirectory directory;
  replace_file(directory / "a", "one\r\n\ntwo\xe2\x80\xa8x");
  EXPECT_EQ(read_lines(directory / "a", text::Invalid::refuse),
            (Lines{"one\r", "", "two\xe2\x80\xa8x"}));
}

TEST(ReadLines, EmptyMissingAndInvalidFilesAreErrors) {
  const residual::test::TemporaryDirectory directory;
  replace_file(directory / "empty", "");
  replace_file(directory / "invalid", "a\xff\n");
  EXPECT_THROW(read_lines(directory / "empty", text::Invalid::refuse), Error);
  EXPECT_THROW(read_lines(directory / "missing", text::Invalid::refuse), Error);
  EXPECT_THROW(read_lines(directory / "invalid", text::Invalid::refuse), Error);
  EXPECT_EQ(read_lines(directory / "invalid", text::Invalid::replace), Lines{"a\xef\xbf\xbd"});
}

}  // namespace
}  // namespace residual::metrics
