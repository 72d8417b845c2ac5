#include "serve/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace residual::serve {
namespace {

TEST(Workers, RunJobsInOrder) {
  std::vector<int> order;
  {
    Workers one(1);
    for (int i = 0; i < 100; ++i) one.post([&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Workers, RunAsManyJobsAtOnceAsThereAreThreads) {
  Workers three(3);
  std::atomic<int> arrived = 0;
  std::promise<void> all;
  for (int i = 0; i < 3; ++i) {
    three.post([&] {
      if (++arrived == 3) all.set_value();
      while (arrived < 3) std::this_thread::yield();
    });
  }
  EXPECT_EQ(all.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(Workers, DropOnlyWhatHasNotBegun) {
  std::promise<void> begun, go;
  bool has_run = false;
  {
    Workers one(1);
    const auto first = one.post([&] {
      begun.set_value();
      go.get_future().wait();
    });
    const auto second = one.post([&] { has_run = true; });
    begun.get_future().wait();
    EXPECT_FALSE(one.drop(first));
    EXPECT_TRUE(one.drop(second));
    EXPECT_FALSE(one.drop(second));
    go.set_value();
  }
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace residual::serve
