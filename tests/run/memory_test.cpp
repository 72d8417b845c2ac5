#include "run/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "base/control_group.h"
#include "base/error.h"
#include "support/temporary.h"
#include "support/tiny_run.h"

namespace residual::run {
namespace {

using testing::HasSubstr;

TEST(Memory, IsRefusedWithAdvice) {
  TrainConfig config;
  config.model.source_vocabulary = config.model.target_vocabulary = 10'000;
  config.train.workers = 2;
  const MemoryEstimate need = estimate_memory(config);
  EXPECT_EQ(need.gradients, 2 * need.parameters);
  EXPECT_EQ(need.moments, 2 * need.parameters);
  EXPECT_NO_THROW(require_memory(config, 2 * need.total()));
  EXPECT_NO_THROW(require_memory(config, -1));
  const auto error = [&](int64_t available) -> std::string {
    try {
      require_memory(config, available);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error(need.total() - 1), HasSubstr("lower batch.pass_tokens from 1024"));
  EXPECT_THAT(error(need.parameters), HasSubstr("lower train.workers, or use a smaller model"));

  TrainConfig whole = config;  // shares of 2048 tokens at once instead of 1024
  whole.batch.pass_tokens = 0;
  EXPECT_GT(estimate_memory(whole).activations, 1.5 * static_cast<double>(need.activations));
  EXPECT_GT(available_memory(), 0);

  TrainConfig recomputed = config;
  recomputed.train.recompute = true;
  EXPECT_LT(estimate_memory(recomputed).activations, 0.6 * static_cast<double>(need.activations));
}

TEST(Memory, IsLimitedByEveryGroupAroundTheProcess) {
  const test::TemporaryDirectory root;
  const auto group = [&](const fs::path& at, int64_t limit, int64_t used, const char* stat) {
    fs::create_directories(root / at);
    std::ofstream(root / at / "memory.max") << limit;
    std::ofstream(root / at / "memory.current") << used;
    std::ofstream(root / at / "memory.stat") << stat;
  };
  const auto left = [&](const char* path) {
    std::ofstream(root / "list") << "0::" << path << '\n';
    return left_of_groups(control_groups("memory", root / "list", root.path()));
  };
  EXPECT_EQ(left("/a/b"), std::numeric_limits<int64_t>::max());
  group("a", 1000, 300, "anon 200\nactive_file 60\ninactive_file 40\n");
  fs::create_directories(root / "a/b");
  std::ofstream(root / "a/b/memory.max") << "max\n";
  EXPECT_EQ(left("/a/b"), 800);
  EXPECT_EQ(left("/a"), 800);
  EXPECT_EQ(left("/elsewhere"), std::numeric_limits<int64_t>::max());
  group("", 500, 100, "active_file 1\ntotal_active_file 5\ntotal_inactive_file 6\n");
  EXPECT_EQ(left("/a/b"), 411);
  EXPECT_EQ(left("/elsewhere"), 411);
}

}  // namespace
}  // namespace residual::run
