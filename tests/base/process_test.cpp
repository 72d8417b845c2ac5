#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "support/temporary.h"

namespace residual {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class FilterTest : public testing::Test {
 protected:
  ~FilterTest() override { ::close(null_); }
  const int null_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
};

TEST_F(FilterTest, AnswersEachLineBeforeTheNext) {
  Filter echo({"sed", "-u", "s/^/got /"}, null_);
  const std::string line(300'000, 'x');  // more than sockets hold
  for (const std::string& sent : {std::string("a b"), std::string(), line, std::string("c")}) {
    EXPECT_EQ(echo(sent), "got " + sent);
  }
}

TEST_F(FilterTest, GivesTheProgramAFile) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "f", "content\n");
  const int file = ::open((directory / "f").c_str(), O_RDONLY | O_CLOEXEC);
  Filter reader({"sh", "-c", "read line; cat /proc/self/fd/3"}, file);
  ::close(file);
  EXPECT_EQ(reader("go"), "content");
}

TEST_F(FilterTest, SaysWhenTheProgramHasEndedOrIsNotThere) {
  Filter ended({"sh", "-c", "exit 3"}, null_);
  EXPECT_THAT([&] { ended("a"); }, ThrowsMessage<Error>(HasSubstr("sh: the process ended")));
  EXPECT_THAT([&] { Filter({"no-such-program"}, null_); },
              ThrowsMessage<Error>(HasSubstr("no-such-program: cannot start")));
}

}  // namespace
}  // namespace residual
