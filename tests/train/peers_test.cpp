// Processes that work together, here as threads: what they exchange, and what happens when one of
// them is lost.

#include "train/ranks/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/random.h"
#include "thread_ranks.h"

namespace residual::train {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class Together : public testing::Test {
 protected:
  // Runs `body` in `size` processes that have met; returns what each threw, or "".
  template <class Body>
  static std::vector<std::string> run(int size, Body body, Courier::Duration silence = 20s,
                                      test::Network* network = nullptr) {
    test::Network own(size);
    test::Network& lines = network != nullptr ? *network : own;
    std::vector<std::string> errors(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    std::atomic<int> running = size;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          const auto open = [&lines, rank] {
            return std::make_unique<test::ThreadRanks>(lines, rank);
          };
          const Peers peers(open, "kind", silence);
          body(peers);
        } catch (const Error& error) {
          errors[static_cast<size_t>(rank)] = error.what();
        }
        if (--running <= 1) lines.end();  // a stopped one may go on to its end
      });
    }
    for (auto& thread : threads) thread.join();
    return errors;
  }
  template <class Body>
  static void expect_all(int size, Body body) {
    EXPECT_THAT(run(size, body), Each(""));
  }
};

TEST_F(Together, EveryoneHasEveryElement) {
  for (const int size : {1, 2, 3, 5}) {
    for (const size_t count : {0, 1, 4, 7, 100'000}) {
      SCOPED_TRACE(testing::Message() << size << " processes, " << count << " elements");
      expect_all(size, [&](const Peers& peers) {
        std::vector<uint64_t> all(count, 0);
        for (size_t i = peers.first(count); i < peers.end(count); ++i) all[i] = 3 * i + 1;
        peers.complete(std::span(all));
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(all[i], 3 * i + 1);
      });
    }
  }
}

TEST_F(Together, TheFirstOnesTextAndNumbersSpread) {
  const std::string text(1'000'000, 'x');
  expect_all(4, [&](const Peers& peers) {
    std::string got = peers.leads() ? text : "something else";
    std::vector<float> numbers = peers.leads() ? std::vector<float>{1, 2} : std::vector<float>{};
    peers.spread(got);
    peers.spread(numbers);
    EXPECT_TRUE(got == text);
    EXPECT_THAT(numbers, ElementsAre(1, 2));
  });
}

// Floats that lose bits when they are added in another order.
float value(size_t worker, size_t element) {
  const Random random(worker, element);
  return static_cast<float>(random.uniform(0) - 0.5) *
         std::exp2f(static_cast<float>(random.below(1, 20)));
}

// Sums of some workers' gradients in `size` processes, collected in the first. Buckets become final
// one after another, while the exchange is under way.
void expect_sums(size_t workers, int size, size_t count, GradientSum::Route route,
                 const std::vector<float>& expected, const Peers& peers) {
  const Slices slices(count, peers.rank(), size);
  std::vector<std::vector<float>> own;
  for (size_t w = peers.first(workers); w < peers.end(workers); ++w) {
    own.emplace_back(count);
    for (size_t i = 0; i < count; ++i) own.back()[i] = value(w, i);
  }
  std::vector<int> needed;
  for (size_t b = 0; b < slices.buckets(); ++b) {
    needed.push_back(static_cast<int>(slices.buckets() - b));
  }
  GradientSum sum(slices, {own.begin(), own.end()}, needed, size, route);
  Peers::InBackground background(peers, sum);
  for (int progress = 1; progress <= static_cast<int>(slices.buckets()); ++progress) {
    for (size_t w = 0; w < own.size(); ++w) sum.passed(w, progress);
    std::this_thread::yield();
  }
  background.wait();
  std::vector<float> slice;
  for (size_t b = 0; b < slices.buckets(); ++b) {
    const auto range = slices.own(b);
    slice.insert(slice.end(), own[0].data() + range.begin, own[0].data() + range.end);
  }
  std::vector<float> all(peers.leads() ? count : 0);
  peers.collect(slices, slice, all);
  EXPECT_TRUE(!peers.leads() || all == expected);
}

TEST_F(Together, SumsDoNotDependOnTheNumberOfProcesses) {
  constexpr size_t kWorkers = 6;
  for (const size_t count : {size_t{1}, size_t{65'537}, size_t{1'500'001}}) {
    std::vector<float> expected(count);
    for (size_t i = 0; i < count; ++i) {
      for (size_t w = 0; w < kWorkers; ++w) expected[i] += value(w, i);
    }
    for (const int size : {2, 4, 6}) {
      SCOPED_TRACE(testing::Message() << size << " processes, " << count << " elements");
      expect_all(size, [&](const Peers& peers) {
        expect_sums(kWorkers, size, count, GradientSum::Route::chain, expected, peers);
      });
    }
    expect_all(6, [&](const Peers& peers) {
      expect_sums(kWorkers, 6, count, GradientSum::Route::direct, expected, peers);
    });
  }
}

TEST_F(Together, SlicesBecomeTheWholeEverywhere) {
  for (const size_t count : {size_t{5}, size_t{3'000'000}}) {
    expect_all(3, [&](const Peers& peers) {
      const Slices slices(count, peers.rank(), 3);
      std::vector<float> all(count, -1);
      for (size_t b = 0; b < slices.buckets(); ++b) {
        for (size_t i = slices.own(b).begin; i < slices.own(b).end; ++i) {
          all[i] = static_cast<float>(i % 1000);
        }
      }
      peers.gather(slices, all);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(all[i], static_cast<float>(i % 1000));
    });
  }
}

TEST_F(Together, OneThatFailsIsNamedByAll) {
  const auto errors = run(4, [](const Peers& peers) {
    if (peers.rank() == 2) fail("out of luck");
    std::vector<char> all(4);
    peers.complete(std::span(all));
  });
  EXPECT_EQ(errors[2], "out of luck");
  for (const size_t rank : {0, 1, 3}) {
    EXPECT_THAT(errors[rank], AllOf(HasSubstr("process 2 ("), HasSubstr("has failed")));
  }
}

TEST_F(Together, AnExceptionDuringTheExchangeIsAFailure) {
  const auto errors = run(2, [](const Peers& peers) {
    const Slices slices(100'000, peers.rank(), 2);
    std::vector<float> gradient(100'000);
    const std::vector<int> needed(slices.buckets(), 1);
    GradientSum sum(slices, {gradient}, needed, 2, GradientSum::Route::direct);
    Peers::InBackground background(peers, sum);
    if (peers.rank() == 1) fail("out of luck");
    sum.passed(0, 1);
    background.wait();
  });
  EXPECT_EQ(errors[1], "out of luck");
  EXPECT_THAT(errors[0], HasSubstr("process 1 ("));
}

TEST_F(Together, OneThatStandsStillIsNamedByAll) {
  for (const int stopped : {0, 2}) {
    test::Network network(3);
    const auto errors = run(
        3,
        [&](const Peers& peers) {
          if (peers.rank() == stopped) network.stop(stopped);
          std::vector<char> all(3);
          peers.complete(std::span(all));
        },
        1500ms, &network);
    for (size_t rank = 0; rank < 3; ++rank) {
      if (static_cast<int>(rank) == stopped) continue;
      EXPECT_THAT(errors[rank], AllOf(HasSubstr(fmt::format("process {} (", stopped)),
                                      HasSubstr("has disappeared")));
    }
  }
}

TEST_F(Together, ADifferentKindIsNamedByAll) {
  test::Network network(3);
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto open = [&network, rank] {
        return std::make_unique<test::ThreadRanks>(network, rank);
      };
      try {
        const Peers peers(open, rank == 1 ? "old" : "new", 20s);
      } catch (const Error& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("process 1 ("), HasSubstr("is (old), process 0"))));
}

}  // namespace
}  // namespace residual::train
