#include "base/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "support/temporary.h"

namespace residual {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ControlGroups : public testing::Test {
 protected:
  void write(const fs::path& file, const char* text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::vector<fs::path> groups(const char* controller) {
    return control_groups(controller, root_ / "list", root_.path());
  }
  int cores() { return cores_of_groups(groups("cpu")); }

  test::TemporaryDirectory root_;
};

TEST_F(ControlGroups, OfVersionTwoAreOneTree) {
  write("list", "0::/system.slice/translate.service\n");
  EXPECT_THAT(groups("cpu"), ElementsAre(root_ / "system.slice/translate.service",
                                         root_ / "system.slice", root_.path()));
  EXPECT_EQ(groups("memory"), groups("cpu"));
}

TEST_F(ControlGroups, OfVersionOneHaveATreeForEachController) {
  write("list", "4:memory:/a\n2:cpu,cpuacct:/b\n1:cpuset:/\nnonsense\n");
  EXPECT_THAT(groups("memory"), ElementsAre(root_ / "memory/a", root_ / "memory"));
  EXPECT_THAT(groups("cpu"), ElementsAre(root_ / "cpu/b", root_ / "cpu"));
  EXPECT_THAT(groups("pids"), IsEmpty());
}

TEST_F(ControlGroups, TheTightestQuotaDecides) {
  constexpr int kAll = std::numeric_limits<int>::max();
  EXPECT_EQ(cores(), kAll) << "no list";
  write("list", "0::/a/b\n");
  EXPECT_EQ(cores(), kAll) << "no quota";
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), kAll);
  write("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores(), 3) << "two and a half";
  write("cpu.max", "10000 100000\n");
  EXPECT_EQ(cores(), 1) << "a tenth";
}

TEST_F(ControlGroups, QuotasOfVersionOneAreInTwoFiles) {
  write("list", "1:cpu:/a\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  write("cpu/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cores(), std::numeric_limits<int>::max());
  write("cpu/a/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(cores(), 2);
}

}  // namespace
}  // namespace residual
