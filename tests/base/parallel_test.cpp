#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/pipeline.h"
#include "base/serial_scope.h"

namespace residual {
namespace {

class Threads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(available_cores()); }
};
INSTANTIATE_TEST_SUITE_P(OneTwoMany, Threads, testing::Values(1, 2, 7));

TEST_P(Threads, ParallelForVisitsEveryIndexOnceInPiecesOfTheGrain) {
  for (const int64_t count : {0, 1, 2, 10, 1000, 1001}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    std::mutex mutex;
    std::set<int64_t> begins;
    parallel_for(count, 10, [&](int64_t begin, int64_t end) {
      EXPECT_TRUE(end - begin == 10 || end == count);
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      const std::lock_guard lock(mutex);
      begins.insert(begin);
    });
    for (const auto& n : visits) EXPECT_EQ(n, 1);
    EXPECT_EQ(static_cast<int64_t>(begins.size()), (count + 9) / 10);
  }
}

TEST_P(Threads, ParallelForRunsManyTimesAndInsideItself) {
  std::atomic<int> sum = 0;
  for (int round = 0; round < 500; ++round) {
    parallel_for(8, 1, [&](int64_t, int64_t) {
      parallel_for(4, 1, [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); });
    });
  }
  EXPECT_EQ(sum, 500 * 32);
}

// From inside a body of the others' work: had it to wait for them, it would wait for ever.
TEST_P(Threads, SerialScopeWaitsForNoOtherThread) {
  std::atomic<int> sum = 0;
  parallel_for(8, 1, [&](int64_t, int64_t) {
    std::thread([&] {
      const SerialScope alone;
      const auto self = std::this_thread::get_id();
      parallel_for(4, 1, [&](int64_t, int64_t) { sum += self == std::this_thread::get_id(); });
    }).join();
  });
  EXPECT_EQ(sum, 32);
}

TEST_P(Threads, ParallelForPassesOnAnExceptionAndWorksAfterwards) {
  EXPECT_THROW(parallel_for(100, 1, [](int64_t begin, int64_t) { require(begin != 50, "fifty"); }),
               Error);
  std::atomic<int> visits = 0;
  parallel_for(100, 1, [&](int64_t, int64_t) { ++visits; });
  EXPECT_EQ(visits, 100);
}

// Squares 0 .. count-1.
void set_up(OrderedPipeline<int, int>& pipeline, int count, std::vector<int>& out) {
  pipeline.produce = [count, i = 0]() mutable {
    return i < count ? std::optional(i++) : std::nullopt;
  };
  pipeline.make_worker = [] {
    return [](int item) {
      if (item % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      return item * item;
    };
  };
  pipeline.consume = [&out](int result) { out.push_back(result); };
}

TEST_P(Threads, PipelineKeepsOrder) {
  for (const int count : {0, 1, 500}) {
    std::vector<int> out;
    OrderedPipeline<int, int> pipeline;
    set_up(pipeline, count, out);
    pipeline.run(GetParam());
    ASSERT_EQ(static_cast<int>(out.size()), count);
    for (int i = 0; i < count; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i * i);
  }
}

TEST_P(Threads, PipelineReportsTheFirstErrorInStreamOrderAfterWhatPrecedesIt) {
  std::vector<int> out;
  OrderedPipeline<int, int> pipeline;
  set_up(pipeline, 500, out);
  pipeline.make_worker = [] {
    return [](int item) {
      if (item == 100) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      require(item < 100, "{}", item);
      return item;
    };
  };
  try {
    pipeline.run(GetParam());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "100");
  }
  EXPECT_EQ(out.size(), 100u);
}

TEST_P(Threads, PipelineStopsAWaitingProducerWhenTheConsumerFails) {
  std::vector<int> out;
  OrderedPipeline<int, int> pipeline;
  set_up(pipeline, 500, out);
  std::atomic<bool> stopped = false;
  pipeline.produce = [&stopped, i = 0]() mutable -> std::optional<int> {
    if (i == 3) {
      while (!stopped) std::this_thread::yield();
      return std::nullopt;
    }
    return i++;
  };
  pipeline.consume = [](int) { fail("no room"); };
  pipeline.stop = [&stopped] { stopped = true; };
  EXPECT_THROW(pipeline.run(GetParam()), Error);
}

TEST_P(Threads, PipelinePassesOnAnErrorOfTheProducer) {
  std::vector<int> out;
  OrderedPipeline<int, int> pipeline;
  set_up(pipeline, 10, out);
  pipeline.produce = [i = 0]() mutable -> std::optional<int> {
    require(i < 5, "unreadable");
    return i++;
  };
  EXPECT_THROW(pipeline.run(GetParam()), Error);
  EXPECT_EQ(out.size(), 5u);
}

TEST_P(Threads, PipelinePassesOnAnErrorOfMakingAWorker) {
  std::vector<int> out;
  OrderedPipeline<int, int> pipeline;
  set_up(pipeline, 10, out);
  pipeline.make_worker = []() -> std::function<int(int)> { fail("no model"); };
  EXPECT_THROW(pipeline.run(GetParam()), Error);
}

TEST(LeaveCpu, MovesTheThreadIfItMayAndKeepsItsMask) {
  std::thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    // The system may move it back at once.
    bool has_moved = CPU_COUNT(&before) == 1;
    for (int attempt = 0; attempt < 1000 && !has_moved; ++attempt) {
      const int there = current_cpu();
      leave_cpu(there);
      has_moved = current_cpu() != there;
    }
    EXPECT_TRUE(has_moved);
    ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));

    const int here = current_cpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    leave_cpu(here);
    EXPECT_EQ(current_cpu(), here);
    leave_cpu(-1);
    EXPECT_EQ(current_cpu(), here);
  }).join();
}

TEST(AvailableCores, IsAtLeastOneAndThreadCountFollowsIt) {
  EXPECT_GE(available_cores(), 1);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), 1);
  set_thread_count(available_cores());
}

}  // namespace
}  // namespace residual
