#include "fetch/download.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "support/error_of.h"
#include "support/temporary.h"

namespace residual::fetch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Download : public testing::Test {
 protected:
  void SetUp() override {
    log::set_level(log::Level::warning);
    if (run_process({"curl", "--version"}).exit_code != 0) GTEST_SKIP() << "needs curl";
    fs::create_directories(here_ / "host/path");
    replace_file(here_ / "host/path/a.tgz", "content");
  }
  void TearDown() override { log::set_level(log::Level::info); }

  std::vector<fs::path> load(const RemoteFile& file, bool verify = true) {
    return download({file}, {.directory = here_ / "downloads",
                             .mirror = "file://" + (here_ / "host").string(),
                             .verify = verify});
  }

  std::string error_of(const RemoteFile& file) {
    return residual::test::error_of([&] { load(file); });
  }

  const test::TemporaryDirectory here_;
  const RemoteFile good_ = {
      .address = "http://example.org/path/a.tgz",
      .bytes = 7,
      .digest = "sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"};
};

TEST_F(Download, TakesTheFileFromTheMirrorAndLeavesNothingElse) {
  const auto paths = load(good_);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(read_file(paths[0]), "content");
  EXPECT_EQ(std::distance(fs::directory_iterator(here_ / "downloads"), {}), 1);
}

TEST_F(Download, WhatIsThereIsNotLoadedAgain) {
  fs::create_directories(here_ / "downloads");
  fs::remove(here_ / "host/path/a.tgz");
  replace_file(here_ / "downloads/a.tgz", "content");
  EXPECT_EQ(read_file(load(good_)[0]), "content");
}

TEST_F(Download, ResumesWhatAnEarlierRunBegan) {
  fs::create_directories(here_ / "downloads");
  replace_file(here_ / "downloads/a.tgz.part", "CON");  // shows which bytes were loaded
  RemoteFile file = good_;
  file.digest.clear();
  EXPECT_EQ(read_file(load(file)[0]), "CONtent");
}

TEST_F(Download, TwoProcessesDoNotLoadTheSameFileAtOnce) {
  fs::create_directories(here_ / "downloads");
  fs::remove(here_ / "host/path/a.tgz");
  const int other = ::open((here_ / "downloads").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  auto waiting = std::async(std::launch::async, [&] { return read_file(load(good_)[0]); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  replace_file(here_ / "downloads/a.tgz", "content");
  ::close(other);
  EXPECT_EQ(waiting.get(), "content");
}

TEST_F(Download, AWholePartIsNotLoadedAgain) {
  fs::create_directories(here_ / "downloads");
  fs::remove(here_ / "host/path/a.tgz");
  replace_file(here_ / "downloads/a.tgz.part", "content");
  EXPECT_EQ(read_file(load(good_)[0]), "content");
}

TEST_F(Download, AMissingFileIsNamedWithItsAddressAndPlace) {
  EXPECT_THAT(error_of({.address = "http://example.org/path/b.tgz", .bytes = 1234}),
              AllOf(HasSubstr("/host/path/b.tgz -> "), HasSubstr("downloads/b.tgz (1,234 bytes)"),
                    HasSubstr("run the same command again")));
}

TEST_F(Download, WrongSizeOrDigestIsAnErrorUnlessTold) {
  RemoteFile file = good_;
  file.bytes = 8;
  EXPECT_THAT(error_of(file), HasSubstr("expected 8 bytes, got 7"));
  EXPECT_FALSE(fs::exists(here_ / "downloads/a.tgz"));
  file = good_;
  file.digest = "md5:00000000000000000000000000000000";
  EXPECT_THAT(error_of(file), HasSubstr("got md5:9a0364b9e99bb480dd25e1f0284c8555"));
  EXPECT_EQ(read_file(load(file, /*verify=*/false)[0]), "content");
}

TEST(RemoteFile, ItsNameIsTheLastPartOfTheAddressAndStaysInItsDirectory) {
  EXPECT_EQ((RemoteFile{.address = "http://h/a/b%2bc%.tgz"}.name()), "b+c%.tgz");
  EXPECT_THROW((RemoteFile{.address = "http://h/"}.name()), Error);
  EXPECT_THROW((RemoteFile{.address = "http://h/.."}.name()), Error);
  EXPECT_THROW((RemoteFile{.address = "http://h/..%2f..%2fetc"}.name()), Error);
}

TEST(RequireProgram, SaysHowToInstallWhatIsMissing) {
  EXPECT_NO_THROW(require_program("sh", "dash"));
  try {
    require_program("no-such-program", "some-package");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("apt-get install some-package"));
  }
}

TEST(Extract, TakesWhatMatchesAndSaysWhenNothingDoes) {
  log::set_level(log::Level::warning);
  const test::TemporaryDirectory here;
  fs::create_directories(here / "in/x");
  fs::create_directories(here / "out");
  replace_file(here / "in/x/a.po", "a");
  replace_file(here / "in/x/b.txt", "b");
  const fs::path archive = here / "odd:name.tar";
  ASSERT_EQ(run_process({"tar", "--force-local", "-cf", archive, "-C", here / "in", "x"}).exit_code,
            0);
  EXPECT_THROW(extract(archive, here / "out", {"*.mo"}), Error);
  EXPECT_NO_THROW(extract(archive, here / "out", {"*.mo"}, Matches::optional));
  extract(archive, here / "out", {"*.po"});
  EXPECT_TRUE(fs::exists(here / "out/x/a.po"));
  EXPECT_FALSE(fs::exists(here / "out/x/b.txt"));
  replace_file(archive, "not an archive");
  fs::remove_all(here / "out/x");
  EXPECT_THROW(extract(archive, here / "out", {"*.mo"}, Matches::optional), Error);
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace residual::fetch
