#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/partial_files.h"
#include "support/temporary.h"

namespace residual {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

// Records the calls that reach it and fails, or ends the process, at the n-th.
class FaultyFileSystem : public FileSystem {
 public:
  enum class Fault { error, death };
  FaultyFileSystem(int at, Fault fault) : left_(at), fault_(fault) {}

  int create(const fs::path& path, const fs::path& shown) override {
    step("create");
    return FileSystem::create(path, shown);
  }
  void write(int file, const fs::path& path, std::string_view bytes) override {
    step("write", [&] { FileSystem::write(file, path, bytes.substr(0, bytes.size() / 2)); });
    FileSystem::write(file, path, bytes);
  }
  void sync(int file, const fs::path& path) override {
    step("sync");
    FileSystem::sync(file, path);
  }
  void close(int file, const fs::path& path) override {
    step("close");
    FileSystem::close(file, path);
  }
  void rename(const fs::path& from, const fs::path& to) override {
    step("rename");
    FileSystem::rename(from, to);
  }
  void exchange(const fs::path& a, const fs::path& b) override {
    step("exchange");
    FileSystem::exchange(a, b);
  }
  void sync_directory(const fs::path& directory) override {
    step("sync_directory");
    FileSystem::sync_directory(directory);
  }

  std::vector<std::string> calls;

 private:
  void step(
      const char* call, const std::function<void()>& half_done = [] {}) {
    calls.emplace_back(call);
    if (left_-- != 0) return;
    half_done();
    if (fault_ == Fault::death) ::_exit(0);
    fail("{}: no space left, says the test", call);
  }

  int left_;
  Fault fault_;
};

constexpr int kNever = 1000;

TEST(AtomicFile, WritesSyncsRenamesAndSyncsTheDirectoryInThatOrder) {
  const test::TemporaryDirectory directory;
  FaultyFileSystem system(kNever, FaultyFileSystem::Fault::error);
  replace_file(directory / "f", "content", system);
  EXPECT_EQ(system.calls, (std::vector<std::string>{"create", "write", "sync", "close", "rename",
                                                    "sync_directory"}));
  EXPECT_EQ(read_file(directory / "f"), "content");
}

TEST(AtomicFile, AnErrorAtAnyCallKeepsTheOldFileOrHasTheNewOneAndLeavesNothingElse) {
  for (int at = 0; at < 6; ++at) {
    const test::TemporaryDirectory directory;
    replace_file(directory / "f", "old");
    FaultyFileSystem system(at, FaultyFileSystem::Fault::error);
    EXPECT_THROW(replace_file(directory / "f", "new", system), Error) << at;
    const bool renamed = at == 5;  // only the directory's sync failed
    EXPECT_EQ(read_file(directory / "f"), renamed ? "new" : "old") << at;
    EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"f"}) << at;
  }
}

TEST(AtomicFile, DeathAtAnyCallKeepsTheOldFileOrHasTheNewOne) {
  for (int at = 0; at < 6; ++at) {
    const test::TemporaryDirectory directory;
    replace_file(directory / "f", "old");
    const pid_t child = ::fork();
    if (child == 0) {
      FaultyFileSystem system(at, FaultyFileSystem::Fault::death);
      replace_file(directory / "f", "new", system);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(read_file(directory / "f"), at == 5 ? "new" : "old") << at;
  }
}

TEST(AtomicFile, WithoutCommitNothingHappened) {
  const test::TemporaryDirectory directory;
  { AtomicFile(directory / "f").write("content"); }
  EXPECT_TRUE(names_in(directory.path()).empty());
}

TEST(AtomicFile, GivesAPipeWhatItGetsAtOnce) {
  const test::TemporaryDirectory directory;
  const fs::path pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int end = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  AtomicFile file(pipe);
  file.write("a line\n");
  char bytes[16] = {};
  EXPECT_EQ(::read(end, bytes, sizeof(bytes)), 7);
  EXPECT_STREQ(bytes, "a line\n");
  ::close(end);
}

TEST(AtomicFile, LeavesNothingWhenASignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const test::TemporaryDirectory directory;
    replace_file(directory / "done", "before");
    const pid_t child = ::fork();
    if (child == 0) {
      remove_partial_files_on_signals();
      AtomicFile first(directory / "first"), second(directory / "second"), done(directory / "done");
      done.write("after");
      done.commit();
      first.write("some");
      ::raise(signal);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"done"}) << signal;
    EXPECT_EQ(read_file(directory / "done"), "after");
  }
}

TEST(AtomicFile, AFullDiskIsAnErrorThatNamesTheFile) {
  try {
    FileSystem::real().write(::open("/dev/full", O_WRONLY), "f", "content");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f: cannot write: No space left on device");
  }
}

TEST(AtomicFile, ErrorsNameTheFileAndNotItsNeighbour) {
  const std::string expected = "/proc/nowhere: cannot create";
  EXPECT_THAT([] { AtomicFile("/proc/nowhere"); }, ThrowsMessage<Error>(StartsWith(expected)));
  EXPECT_THAT([] { AtomicDirectory("/proc/nowhere", false, "a"); },
              ThrowsMessage<Error>(StartsWith(expected)));
}

void write_directory(const fs::path& target, bool replace, FileSystem& system) {
  AtomicDirectory directory(target, replace, "a", system);
  replace_file(directory.path() / "a", "new");
  directory.commit();
}

TEST(AtomicDirectory, AppearsWholeOrNotAtAll) {
  for (int at = 0; at < 4; ++at) {
    const test::TemporaryDirectory directory;
    FaultyFileSystem system(at, FaultyFileSystem::Fault::error);
    EXPECT_THROW(write_directory(directory / "d", false, system), Error) << at;
    EXPECT_TRUE(names_in(directory.path()).empty()) << at;
  }
  const test::TemporaryDirectory directory;
  write_directory(directory / "d/", false, FileSystem::real());
  EXPECT_EQ(read_file(directory / "d/a"), "new");
  EXPECT_THROW(write_directory(directory / "d", false, FileSystem::real()), Error);
}

TEST(AtomicDirectory, ReplacesAnEarlierResultInOneStep) {
  const test::TemporaryDirectory directory;
  fs::create_directory(directory / "d");
  replace_file(directory / "d/a", "old");
  replace_file(directory / "d/b", "old");
  for (int at = 0; at < 4; ++at) {
    FaultyFileSystem system(at, FaultyFileSystem::Fault::error);
    EXPECT_THROW(write_directory(directory / "d", true, system), Error) << at;
    EXPECT_EQ(read_file(directory / "d/a"), "old") << at;
  }
  write_directory(directory / "d", true, FileSystem::real());
  EXPECT_EQ(names_in(directory / "d"), std::set<std::string>{"a"});
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"d"});
}

TEST(FileSystem, ThatCannotSwapLeavesBothNamesWhenItFails) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "a", "new");
  replace_file(directory / "b", "old");
  for (int at = 0; at < 2; ++at) {
    FaultyFileSystem system(at, FaultyFileSystem::Fault::error);
    EXPECT_THROW(system.exchange_in_turn(directory / "a", directory / "b"), Error) << at;
    EXPECT_EQ(names_in(directory.path()), (std::set<std::string>{"a", "b"})) << at;
    EXPECT_EQ(read_file(directory / "b"), "old") << at;
  }
  FileSystem::real().exchange_in_turn(directory / "a", directory / "b");
  EXPECT_EQ(read_file(directory / "a"), "old");
  EXPECT_EQ(read_file(directory / "b"), "new");
}

TEST(AtomicDirectory, DoesNotReplaceWhatIsNoEarlierResult) {
  const test::TemporaryDirectory directory;
  fs::create_directory(directory / "d");
  write_directory(directory / "d", true, FileSystem::real());  // an empty one may go
  fs::create_directory(directory / "mine");
  replace_file(directory / "mine/thesis", "text");
  replace_file(directory / "file", "text");
  EXPECT_THROW(write_directory(directory / "mine", true, FileSystem::real()), Error);
  EXPECT_THROW(write_directory(directory / "file", true, FileSystem::real()), Error);
  EXPECT_EQ(read_file(directory / "mine/thesis"), "text");
  EXPECT_EQ(read_file(directory / "file"), "text");
}

TEST(AtomicDirectory, DoesNotReplaceWhatCameIntoBeingMeanwhile) {
  const test::TemporaryDirectory directory;
  for (const bool replace : {false, true}) {
    AtomicDirectory made(directory / "d", replace, "a");
    replace_file(made.path() / "a", "new");
    fs::create_directory(directory / "d");
    replace_file(directory / "d/thesis", "text");
    EXPECT_THROW(made.commit(), Error);
    EXPECT_EQ(read_file(directory / "d/thesis"), "text");
    fs::remove_all(directory / "d");
  }
}

TEST(AtomicDirectory, RefusesAtOnceWhatCannotBeRenamed) {
  for (const char* where : {".", "/proc"}) {
    EXPECT_THROW(AtomicDirectory(where, true, "version"), Error) << where;
  }
}

TEST(AtomicDirectory, RemovesAFileThatAKilledProcessLeft) {
  const test::TemporaryDirectory directory;
  replace_file(directory / ".d.partial-999999999", "half");
  write_directory(directory / "d", false, FileSystem::real());
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"d"});
}

TEST(AtomicDirectory, WhatAKilledProcessLeftIsRemovedByTheNext) {
  const test::TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicDirectory partial(directory / "d", false, "a");
    replace_file(partial.path() / "a", "half");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
  EXPECT_FALSE(fs::exists(directory / "d"));
  write_directory(directory / "d", false, FileSystem::real());
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"d"});
}

TEST(AtomicDirectory, ASecondWriterIsToldOfTheFirst) {
  const test::TemporaryDirectory directory;
  const AtomicDirectory first(directory / "d", false, "a");
  try {
    const AtomicDirectory second(directory / "d", false, "a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("process {} is writing it", ::getpid())));
  }
  EXPECT_TRUE(fs::exists(first.path()));
}

// One that is just made is not locked yet, and looks as if a dead process had left it.
TEST(AtomicDirectory, IsNotTakenForALeftoverByAnotherProcess) {
  const test::TemporaryDirectory directory;
  const auto try_once = [&] {
    try {
      const AtomicDirectory made(directory / "d", false, "a");
      return fs::exists(made.path());
    } catch (const Error&) {  // the other one is writing it
      return true;
    }
  };
  const pid_t child = ::fork();
  while (child == 0) try_once();
  int lost = 0;
  for (int i = 0; i < 1000; ++i) lost += try_once() ? 0 : 1;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(lost, 0);
}

TEST(AtomicDirectory, ALeftoverWhoseProcessNumberIsInUseAgainIsRemoved) {
  const test::TemporaryDirectory directory;
  fs::create_directory(directory / ".d.partial-1");
  write_directory(directory / "d", false, FileSystem::real());
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"d"});
}

TEST(AtomicFile, FollowsLinksAndWritesIntoWhatIsNoRegularFile) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "f", "old");
  fs::create_symlink("f", directory / "link");
  replace_file(directory / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(read_file(directory / "f"), "new");

  replace_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(replace_file("/dev/full", "text"), Error);

  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  std::thread reader([&] { EXPECT_EQ(read_file(directory / "pipe"), "text"); });
  replace_file(directory / "pipe", "text");
  reader.join();
  EXPECT_TRUE(fs::is_fifo(directory / "pipe"));
  EXPECT_THROW(replace_file(directory.path(), "text"), Error);
}

TEST(AtomicFile, GoesOnWhereAnOpenFileStands) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "log", "before\n");
  const int file = ::open((directory / "log").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(file, 0);
  replace_file(fmt::format("/dev/fd/{}", file), "text\n");
  EXPECT_EQ(::write(file, "after\n", 6), 6);
  ::close(file);
  EXPECT_EQ(read_file(directory / "log"), "before\ntext\nafter\n");
  EXPECT_THROW(replace_file(fmt::format("/proc/self/fd/{}", file), "text"), Error);
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileItReplaces) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "f", "old");
  fs::permissions(directory / "f", fs::perms::owner_read | fs::perms::owner_write);
  replace_file(directory / "f", "new");
  EXPECT_EQ(fs::status(directory / "f").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, RemovesWhatAKilledProcessLeft) {
  const test::TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile half(directory / "f");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
  replace_file(directory / "f", "text");
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"f"});
}

// Two containers may have one volume, and both be process 1.
TEST(AtomicFile, KeepsApartWritersOfOneProcessNumber) {
  const test::TemporaryDirectory directory;
  AtomicFile first(directory / "f");
  first.write("first");
  AtomicFile second(directory / "f");
  second.write("second");
  EXPECT_EQ(names_in(directory.path()).size(), 2u);
  first.commit();
  EXPECT_EQ(read_file(directory / "f"), "first");
  second.commit();
  EXPECT_EQ(read_file(directory / "f"), "second");
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"f"});
}

TEST(AtomicFile, RemovesALeftoverWhoseProcessNumberIsInUseAgain) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / ".f.partial-1") << "half";
  replace_file(directory / "f", "text");
  EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"f"});
}

TEST(AtomicFile, TakesPiecesLargerThanItsBuffer) {
  const test::TemporaryDirectory directory;
  std::string expected;
  AtomicFile file(directory / "f");
  for (const size_t size : {10u, 3'000'000u, 5u, 1u << 20, 7u}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(read_file(directory / "f"), expected);
  EXPECT_EQ(file.size(), expected.size());
}

TEST(ReadFile, ReadsWhatDoesNotSayItsSize) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(read_file("/proc/self/mountinfo"), expected);

  const test::TemporaryDirectory directory;
  const std::string text(1'000'000, 'x');
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  std::thread reader([&] { EXPECT_EQ(read_file(directory / "pipe"), text); });
  replace_file(directory / "pipe", text);
  reader.join();
}

TEST(ReadFile, GivesBackWhatWasWrittenAtAnySize) {
  const test::TemporaryDirectory directory;
  for (const size_t size : {0u, 1u, 65535u, 65536u, 65537u, 5'000'000u}) {
    const std::string content(size, 'x');
    replace_file(directory / "f", content);
    EXPECT_EQ(read_file(directory / "f"), content) << size;
    EXPECT_EQ(MappedFile(directory / "f").bytes(), content) << size;
  }
}

TEST(IsFileName, NamesNothingOutsideOfADirectory) {
  for (const char* name : {"a", "a.b", "...", ".a", "ä b"}) EXPECT_TRUE(is_file_name(name)) << name;
  for (const char* name : {"", ".", "..", "/", "/dev/zero", "a/b", "a/", "../a"}) {
    EXPECT_FALSE(is_file_name(name)) << name;
  }
  EXPECT_FALSE(is_file_name(std::string("a\0b", 3)));
}

TEST(MappedFile, MovesItsMapping) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "f", "content");
  MappedFile a(directory / "f");
  const MappedFile b = std::move(a);
  EXPECT_EQ(b.bytes(), "content");
  EXPECT_THROW(MappedFile(directory / "missing"), Error);
  EXPECT_THROW(MappedFile(directory.path()), Error);
}

TEST(MappedFile, CopiesPartsAlsoOfWhatWasMoved) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "f", "content");
  for (const auto descriptor : {MappedFile::Descriptor::close, MappedFile::Descriptor::keep}) {
    MappedFile from(directory / "f", descriptor);
    MappedFile file = std::move(from);
    std::string part(4, ' ');
    file.copy(file.bytes().substr(3), part.data());
    EXPECT_EQ(part, "tent");
  }
}

TEST(RequireDiskSpace, NamesWhatIsMissing) {
  const test::TemporaryDirectory directory;
  require_disk_space(directory / "not/yet/there", 1);
  EXPECT_THROW(require_disk_space(directory / "x", uint64_t{1} << 60), Error);
}

TEST(RequireWritable, LooksAtTheNearestDirectoryThatExists) {
  const test::TemporaryDirectory directory;
  require_writable(directory / "not/yet/there");
  EXPECT_TRUE(names_in(directory.path()).empty());
  replace_file(directory / "file", "");
  EXPECT_THROW(require_writable(directory / "file/below"), Error);
  EXPECT_THROW(require_writable("/proc/nowhere"), Error);
}

}  // namespace
}  // namespace residual
