// The exchange between the memories of devices, here the memory of threads: it has the bytes of the
// exchange between processes on CPUs.

#include "train/ranks/device_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/random.h"
#include "runs.h"
#include "thread_ranks.h"
#include "train/learner.h"

namespace residual::train {
namespace {

using testing::HasSubstr;

constexpr int kChannel = 1 << 20;  // that the ranks do not use

// What NCCL does, on threads.
class ThreadLink final : public DeviceLink {
 public:
  ThreadLink(test::Network& network, int rank) : network_(network), rank_(rank) {}

  void begin(std::span<const Part> sends, std::span<const Part> receives) override {
    for (const Part& part : sends) {
      network_.put({rank_, part.rank, kChannel},
                   {static_cast<const std::byte*>(part.bytes), part.size});
    }
    waiting_.assign(receives.begin(), receives.end());
  }
  bool done() override {
    while (!waiting_.empty()) {
      const Part& next = waiting_.front();
      const std::span<std::byte> to{static_cast<std::byte*>(next.bytes), next.size};
      if (!network_.take({next.rank, rank_, kChannel}, to)) return false;
      waiting_.erase(waiting_.begin());
    }
    return true;
  }

 private:
  test::Network& network_;
  int rank_;
  std::vector<Part> waiting_;
};

// Runs body(peers, link) in so many threads that have met.
template <class Body>
void together(int size, Body body) {
  test::Network network(size);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  std::atomic<int> running = size;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const Peers peers([&] { return std::make_unique<test::ThreadRanks>(network, rank); },
                          "kind", std::chrono::seconds(20));
        body(peers, std::make_unique<ThreadLink>(network, rank));
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
      if (--running <= 1) network.end();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "");
}

// Floats that lose bits when they are added in another order.
Tensor gradient_of(int rank, int64_t count) {
  Tensor made = at::empty({count});
  for (int64_t i = 0; i < count; ++i) {
    const Random random(static_cast<uint64_t>(rank), static_cast<uint64_t>(i));
    made.data_ptr<float>()[i] = static_cast<float>(random.uniform(0) - 0.5) *
                                std::exp2f(static_cast<float>(random.below(1, 20)));
  }
  return made;
}

TEST(DeviceSlices, AddInTheOrderOfTheRanks) {
  for (const int64_t count : {int64_t{5}, int64_t{70'000}, int64_t{1'500'001}}) {
    for (const int size : {2, 3}) {
      Tensor expected = gradient_of(0, count);
      for (int rank = 1; rank < size; ++rank) expected += gradient_of(rank, count);
      together(size, [&](const Peers& peers, std::unique_ptr<DeviceLink> link) {
        const Slices slices(static_cast<size_t>(count), peers.rank(), size);
        const Tensor all = gradient_of(peers.rank(), count);
        sum_slices(peers, *link, slices, all);
        gather_slices(peers, *link, slices, all);
        EXPECT_TRUE(at::equal(all, expected)) << size << " ranks, " << count;
      });
    }
  }
}

// A learner on devices has the gradients, parameters and checkpoints of one on CPUs.
TEST(DeviceSlices, LearnersEndWithTheBytesOfThoseWithoutThem) {
  const residual::test::ReverseTask task;
  run::TrainConfig config = task.config();
  config.train.workers = 2;
  config.optimizer.average_decay = 0.9;
  config = run::resolve(run::Corpora(config).with_vocabularies(config));
  data::Batch batch{.source_offsets = {0}, .target_offsets = {0}};
  for (int32_t pair = 0; pair < 12; ++pair) {
    for (int32_t i = 0; i < 3 + pair % 4; ++i) {
      batch.source.push_back(4 + (pair + i) % 5);
      batch.target.push_back(4 + (2 * pair + i) % 5);
    }
    for (auto* side : {&batch.source, &batch.target}) side->push_back(2);
    batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
    batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
    batch.pairs.push_back(pair);
  }
  const std::vector<data::Batch> batches = {batch};
  std::vector<run::Checkpoint> ends(2);
  std::vector<run::Sums> dev(2);
  for (const bool has_link : {false, true}) {
    together(2, [&](const Peers& peers, std::unique_ptr<DeviceLink> link) {
      Learner learner(config, peers, has_link ? std::move(link) : nullptr);
      for (int64_t number = 1; number <= 3; ++number) {
        learner.update(batches, {.number = number, .learning_rate = 1e-3});
      }
      const run::Sums sums = learner.evaluate(batches);
      const run::Checkpoint checkpoint = learner.checkpoint();
      if (!peers.leads()) return;
      ends[has_link ? 1 : 0] = checkpoint;
      dev[has_link ? 1 : 0] = sums;
    });
  }
  EXPECT_FALSE(ends[0].values.empty());
  EXPECT_TRUE(ends[0].values == ends[1].values);
  EXPECT_TRUE(ends[0].m == ends[1].m);
  EXPECT_TRUE(ends[0].average == ends[1].average);
  EXPECT_EQ(dev[0].loss, dev[1].loss);
}

TEST(DeviceSlices, NormAndStepOfADeviceAreThoseOfTheCpu) {
  const run::OptimizerConfig config;
  constexpr int64_t kCount = 700'001;
  together(2, [&](const Peers& peers, std::unique_ptr<DeviceLink>) {
    const Slices slices(kCount, peers.rank(), 2);
    Tensor here = gradient_of(7, kCount), there = here.clone();
    const Optimizer optimizer(config, slices, here);
    const double norm = optimizer.reduce({here}, 0.5, peers);
    EXPECT_NEAR(reference::reduce(slices, there, 0.5, peers), norm, 1e-6 * norm);
    EXPECT_TRUE(at::equal(there, here));
  });
}

}  // namespace
}  // namespace residual::train
