// The small parts of base/: checksums, suggestions, processes, errors, log, sockets.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/socket.h"
#include "base/suggest.h"
#include "base/version.h"
#include "support/free_port.h"

namespace residual {
namespace {

using namespace std::chrono_literals;

TEST(Checksum, PiecesGiveTheSameAsTheWhole) {
  const std::string text(100'000, 'q');
  Checksum pieces;
  for (size_t at = 0; at < text.size(); at += 777)
    pieces.add(std::string_view(text).substr(at, 777));
  EXPECT_EQ(pieces.value(), checksum(text));
  EXPECT_NE(checksum(text), checksum(text + "q"));
  EXPECT_EQ(to_hex(checksum("")), "2d06800538d394c2");  // XXH3's published value for no input
}

TEST(Suggestion, NamesTheClosestKnownWord) {
  const std::vector<std::string> known = {"tokenize", "detokenize", "score", "bpe"};
  EXPECT_EQ(suggestion("tokenise", known), "; did you mean \"tokenize\"?");
  EXPECT_EQ(suggestion("socre", known), "; did you mean \"score\"?");
  EXPECT_EQ(suggestion("something-else", known), "");
  EXPECT_EQ(suggestion("x", known), "");
}

// Names come from files, too.
TEST(Suggestion, TakesNoMemoryForAKnownWordOfMegabytes) {
  const std::vector<std::string> known = {std::string(4'000'000, 'x'), "encoder.layers.0.weight"};
  const int64_t before = peak_memory();
  EXPECT_EQ(suggestion("encoder.layer.0.weight", known),
            "; did you mean \"encoder.layers.0.weight\"?");
  EXPECT_LT(peak_memory() - before, 100'000'000);
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

TEST(Require, FormatsOnlyWhenItFails) {
  require(true, "never {}", 1);
  try {
    require(2 > 3, "{}: expected {}, got {}", "where", 2, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "where: expected 2, got 3");
  }
}

TEST(FailErrno, SaysTheSystemsReason) {
  errno = ENOSPC;
  try {
    fail_errno("disk", "cannot write");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "disk: cannot write: No space left on device");
  }
}

TEST(Log, GoesToStandardErrorFromItsLevelUp) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log::set_level(log::Level::warning);
  log::info("not {}", "this");
  log::warn("but {}", "this");
  log::set_level(log::Level::info);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("warning: but this\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("not this"), std::string::npos) << text;
}

TEST(Socket, SaysOnceWhyNobodyIsReached) {
  const int port = test::free_port();
  testing::internal::CaptureStderr();
  EXPECT_THROW(Socket::connect("127.0.0.1", port, std::chrono::steady_clock::now() + 4s), Error);
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string reason = "yet: Connection refused; retrying";
  EXPECT_NE(text.find(reason), std::string::npos) << text;
  EXPECT_EQ(text.find(reason), text.rfind(reason)) << text;
}

TEST(Version, IsKnown) {
  EXPECT_FALSE(version().empty());
  EXPECT_FALSE(commit().empty());
  EXPECT_FALSE(cpu_features().empty());
}

}  // namespace
}  // namespace residual
