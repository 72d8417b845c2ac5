#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

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

TEST(RunProcess, GivesOutputAndExitCode) {
  EXPECT_EQ(run_process({"echo", "a b"}).output, "a b\n");
  EXPECT_EQ(run_process({"false"}).exit_code, 1);
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
  EXPECT_EQ(run_process({"no-such-program-anywhere"}).exit_code, 127);
  EXPECT_EQ(run_process({"cat"}).output, "");  // no standard input to wait for
}

TEST(Child, BlocksNoSignalThatWeDo) {
  sigset_t signals;
  sigset_t before;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  Child child({"sh", "-c", "kill -TERM $$; exit 3"}, "/dev/null");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::optional<int> code;
  while (!(code = child.exit_code())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(code, 128 + SIGTERM);
}

TEST(Child, ThatHasNoLogLeavesNothingOpen) {
  const auto next_descriptor = [] {
    const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(file);
    return file;
  };
  const int before = next_descriptor();
  EXPECT_THROW(Child({"true"}, "/no/such/directory/log"), Error);
  EXPECT_EQ(next_descriptor(), before);
}

TEST(ShellWord, IsReadBackByAShell) {
  EXPECT_EQ(shell_word("runs/iwslt14-de_en.1"), "runs/iwslt14-de_en.1");
  for (const std::string word : {"", "my runs/it's $HOME", "\u00e9\"`!", "a\nb"}) {
    const std::string script = "printf '[%s]' " + shell_word(word);
    EXPECT_EQ(run_process({"sh", "-c", script}).output, "[" + word + "]") << script;
  }
}

}  // namespace
}  // namespace residual
