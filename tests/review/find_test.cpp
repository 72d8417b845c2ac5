#include "review/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary.h"

namespace residual::review {
namespace {

using testing::ElementsAre;

void make_run(const fs::path& path) {
  fs::create_directories(path);
  replace_file(path / "config.toml", "");
  replace_file(path / "metrics.jsonl", "");
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& [name, path] : find_runs(directory)) names.push_back(name);
  return names;
}

TEST(FindRuns, LooksThreeLevelsDeep) {
  const test::TemporaryDirectory directory;
  make_run(directory / "a");
  make_run(directory / "study/runs/b");
  make_run(directory / "too/deep/to/see");
  fs::create_directories(directory / "empty");
  EXPECT_THAT(names_in(directory.path()), ElementsAre("a", "study/runs/b"));
  EXPECT_THAT(names_in(directory / "a"), ElementsAre("."));
  EXPECT_THAT(names_in(directory / "none"), ElementsAre());
}

// A link could lead out of the directory.
TEST(FindRuns, FollowsNoLinks) {
  const test::TemporaryDirectory directory, other;
  make_run(other / "a");
  fs::create_directory_symlink(other / "a", directory / "link");
  EXPECT_THAT(names_in(directory.path()), ElementsAre());
}

TEST(StampOf, ChangesWithTheFiles) {
  const test::TemporaryDirectory directory;
  make_run(directory.path());
  const std::string before = stamp_of(directory.path());
  EXPECT_EQ(stamp_of(directory.path()), before);
  replace_file(directory / "metrics.jsonl", "{}\n");
  EXPECT_NE(stamp_of(directory.path()), before);
}

}  // namespace
}  // namespace residual::review
