// Processes that work together, here as threads: what they exchange, and what happens when one of
// them is not as it should be.

#include "train/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <thread>

#include "base/log.h"
#include "base/random.h"
#include "support/free_port.h"

namespace residual::train {
namespace {

using namespace std::chrono_literals;
using test::free_port;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

run::Place place(int rank, int size, int port) {
  return {.rank = rank, .size = size, .host = "127.0.0.1", .port = port, .job = "test"};
}

class Together : public testing::Test {
 protected:
  Together() { log::set_level(log::Level::off); }
  ~Together() override { log::set_level(log::Level::info); }

  // Runs `body` in `size` processes that have met; what each threw, or "".
  template <class Body>
  static std::vector<std::string> run(int size, Body body) {
    const int port = free_port();
    std::vector<std::string> errors(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = size; rank-- > 0;) {  // process 0 last: the others must wait for it
      threads.emplace_back([&, rank] {
        try {
          const Peers peers(place(rank, size, port), "kind", 20s);
          body(peers);
        } catch (const Error& error) {
          errors[static_cast<size_t>(rank)] = error.what();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return errors;
  }
  template <class Body>
  static void expect_all(int size, Body body) {
    for (const auto& error : run(size, body)) EXPECT_EQ(error, "");
  }

  // The error that meeting the others gives, or "".
  static std::string meet(const run::Place& place, const std::string& kind,
                          Peers::Duration patience = 20s) {
    try {
      const Peers peers(place, kind, patience);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
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

TEST_F(Together, SharesCoverEverythingOnce) {
  expect_all(3, [](const Peers& peers) {
    for (const size_t count : {0, 1, 2, 3, 7, 100}) {
      std::vector<int> owner(count, -1);
      for (size_t i = peers.first(count); i < peers.end(count); ++i) owner[i] = peers.rank();
      peers.complete(std::span(owner));
      EXPECT_TRUE(std::ranges::is_sorted(owner));
      EXPECT_EQ(std::ranges::count(owner, -1), 0);
    }
  });
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

TEST_F(Together, SumsDoNotDependOnTheNumberOfProcesses) {
  constexpr size_t kWorkers = 6;
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{200'001}}) {
    std::vector<float> expected(count);
    for (size_t i = 0; i < count; ++i) {
      for (size_t w = 0; w < kWorkers; ++w) expected[i] += value(w, i);
    }
    for (const int size : {1, 2, 4, 6}) {
      SCOPED_TRACE(testing::Message() << size << " processes, " << count << " elements");
      expect_all(size, [&](const Peers& peers) {
        std::vector<std::vector<float>> own;
        for (size_t w = peers.first(kWorkers); w < peers.end(kWorkers); ++w) {
          own.emplace_back(count);
          for (size_t i = 0; i < count; ++i) own.back()[i] = value(w, i);
        }
        const std::vector<std::span<float>> spans(own.begin(), own.end());
        peers.add_in_order(spans);
        EXPECT_TRUE(own[0] == expected);
      });
    }
  }
}

TEST_F(Together, OneThatLeavesIsNamedByItsNeighbours) {
  const auto errors = run(4, [](const Peers& peers) {
    if (peers.rank() == 2) fail("out of luck");
    std::vector<float> sum(1'000'000);
    const std::vector<std::span<float>> own = {sum};
    peers.add_in_order(own);
    peers.add_in_order(own);
  });
  EXPECT_EQ(errors[2], "out of luck");
  EXPECT_THAT(errors[1], HasSubstr("process 2 (127.0.0.1): "));
  EXPECT_THAT(errors[3], HasSubstr("process 2 (127.0.0.1): "));
  EXPECT_THAT(errors[0], HasSubstr("process 1 (127.0.0.1): "));
}

TEST_F(Together, TheFirstSaysHowManyHaveCome) {
  EXPECT_THAT(meet(place(0, 3, free_port()), "kind", 50ms),
              HasSubstr("1 of 3 processes have connected to 127.0.0.1:"));
}

TEST_F(Together, OthersSayWhereTheyLooked) {
  const int port = free_port();
  EXPECT_THAT(meet(place(1, 2, port), "kind", 50ms),
              HasSubstr(fmt::format("cannot reach 127.0.0.1:{}: ", port)));
  run::Place nowhere = place(1, 2, port);
  nowhere.host = "no-such-host.invalid";
  EXPECT_THAT(meet(nowhere, "kind", 50ms), HasSubstr("cannot reach no-such-host.invalid:"));
}

TEST_F(Together, APortInUseIsNamed) {
  const Socket taken = Socket::listen(0);
  EXPECT_THAT(meet(place(0, 2, taken.port()), "kind"),
              HasSubstr(fmt::format("cannot listen on port {}", taken.port())));
}

TEST_F(Together, StrangersAreSentAwayAndTheOthersMeet) {
  const int port = free_port();
  auto first = std::async(std::launch::async, [&] { return meet(place(0, 2, port), "kind"); });
  const auto until = std::chrono::steady_clock::now() + 20s;
  {
    const Socket scanner = Socket::connect("127.0.0.1", port, until);
    const std::string text(2000, 'G');
    scanner.send(text);
  }
  { const Socket silent = Socket::connect("127.0.0.1", port, until); }
  run::Place other = place(1, 2, port);
  other.job = "another";
  const std::map<std::string, std::string> refused = {
      {meet(other, "kind"), "it belongs to another job"},
      {meet(place(1, 3, port), "kind"), "it expects 3 processes, this job has 2"},
      {meet(place(1, 2, port), "old"), "it is (old), process 0 is (kind)"}};
  for (const auto& [error, reason] : refused) {
    EXPECT_THAT(error,
                AllOf(HasSubstr("process 0 (127.0.0.1) refused this process"), HasSubstr(reason)));
  }
  EXPECT_EQ(meet(place(1, 2, port), "kind"), "");
  EXPECT_EQ(first.get(), "");
}

TEST_F(Together, APlaceIsTakenOnce) {
  const int port = free_port();
  auto first = std::async(std::launch::async, [&] { return meet(place(0, 3, port), "kind"); });
  // Both are process 1 of 3; one of them comes first.
  auto one = std::async(std::launch::async, [&] { return meet(place(1, 3, port), "kind"); });
  auto two = std::async(std::launch::async, [&] { return meet(place(1, 3, port), "kind"); });
  while (one.wait_for(10ms) != std::future_status::ready &&
         two.wait_for(10ms) != std::future_status::ready) {
  }
  EXPECT_EQ(meet(place(2, 3, port), "kind"), "");
  EXPECT_EQ(first.get(), "");
  EXPECT_THAT(one.get() + two.get(), HasSubstr("process 1 has already joined"));
}

TEST_F(Together, AProcessThatEndsBeforeAllHaveComeMayComeAgain) {
  const int port = free_port();
  auto first = std::async(std::launch::async, [&] { return meet(place(0, 3, port), "kind"); });
  {
    // Says what process 1 would, and leaves.
    auto gone = std::async(std::launch::async, [&] { return meet(place(1, 3, port), "kind", 1s); });
    EXPECT_THAT(gone.get(), HasSubstr("process 0 (127.0.0.1): no data arrived in time"));
  }
  auto again = std::async(std::launch::async, [&] { return meet(place(1, 3, port), "kind"); });
  EXPECT_EQ(meet(place(2, 3, port), "kind"), "");
  EXPECT_EQ(again.get(), "");
  EXPECT_EQ(first.get(), "");
}

TEST_F(Together, LongNamesOfJobsAreOfNoConcern) {
  const int port = free_port();
  std::vector<std::future<std::string>> all;
  for (int rank = 0; rank < 3; ++rank) {
    run::Place long_one = place(rank, 3, port);
    long_one.job = std::string(500, 'x');
    all.push_back(std::async(std::launch::async, [=] { return meet(long_one, "kind"); }));
  }
  for (auto& one : all) EXPECT_EQ(one.get(), "");
}

TEST_F(Together, WhatAnswersMustBeOneOfOurs) {
  const Socket door = Socket::listen(0);
  auto follower =
      std::async(std::launch::async, [&] { return meet(place(1, 2, door.port()), "kind"); });
  const Socket link = door.accept(std::chrono::steady_clock::now() + 20s);
  link.send(std::string(5000, 'x'));
  EXPECT_THAT(follower.get(), HasSubstr("is not a residual process"));
}

}  // namespace
}  // namespace residual::train
