#include "decode/team.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace residual::decode {
namespace {

TEST(Team, DoesEveryPieceOnce) {
  for (const int members : {1, 2, 3, 5}) {
    Team team(members);
    for (uint32_t count = 0; count < 40; ++count) {
      std::vector<std::atomic<int>> times(count);
      team.run(count, [&](uint32_t i) { ++times.at(i); });
      for (uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(times[i], 1) << "piece " << i << " of " << count << ", " << members << " members";
      }
    }
  }
}

// The caller sees what the others wrote, round after round.
TEST(Team, IsDoneWhenItReturns) {
  Team team(3);
  std::array<uint32_t, 7> squares = {};
  for (uint32_t round = 0; round < 2000; ++round) {
    team.run(squares.size(), [&](uint32_t i) { squares[i] = round * i; });
    for (uint32_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], round * i);
  }
}

// However late its members hear of the last round.
TEST(Team, Ends) {
  for (int i = 0; i < 3000; ++i) {
    Team team(2 + i % 3);
    std::atomic<int> done = 0;
    for (int round = 0; round < i % 4; ++round) {
      team.run(3, [&](uint32_t) { ++done; });
    }
    EXPECT_EQ(done, 3 * (i % 4));
  }
}

// One member is held up by a piece until all others are done: their owners cannot be waited for.
TEST(Team, HelpsThoseWhoAreLate) {
  constexpr uint32_t kPieces = 8;
  for (uint32_t slow = 0; slow < kPieces; ++slow) {
    Team team(2);
    std::atomic<uint32_t> done = 0;
    team.run(kPieces, [&](uint32_t i) {
      if (i != slow) {
        ++done;
        return;
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (done < kPieces - 1 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      EXPECT_EQ(done, kPieces - 1) << "while piece " << slow << " took its time";
    });
  }
}

// What is fetched ahead is only a hint: any size will do, and none.
TEST(Team, FetchesNothingBeyondTheBytesItIsGiven) {
  Team team(3);
  for (const size_t size : {0, 1, 2, 63, 64, 65, 1000, 3 << 20}) {
    const std::vector<std::byte> bytes(size);
    std::atomic<int> done = 0;
    for (int round = 0; round < 20; ++round) {
      team.run(
          5, [&](uint32_t) { ++done; }, bytes);
    }
    team.run(1, [&](uint32_t) { ++done; });
    EXPECT_EQ(done, 101);
  }
}

}  // namespace
}  // namespace residual::decode
