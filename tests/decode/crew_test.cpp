// A crew with more to do than it has room for.

#include "decode/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "support/models.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

// One thread, and more short requests than it can take at a time, each followed by another one.
class BusyCrew : public testing::Test {
 protected:
  static constexpr int64_t kRows = 8;

  BusyCrew() {
    for (uint64_t caller = 1; caller <= 2 * kRows; ++caller) feed(caller);
  }
  ~BusyCrew() override {
    is_over_ = true;
    for (int left = running_; left > 0; left = running_) running_.wait(left);
  }

  void feed(uint64_t caller) {
    ++running_;
    crew_.submit({.caller = caller, .source = test::random_sentence(caller, 5)},
                 [this, caller](const Crew::Outcome&) {
                   if (!is_over_) feed(caller);
                   --running_;
                   running_.notify_all();
                 });
  }

  // A request that fills all rows.
  std::future<Crew::Outcome> submit_wide(std::shared_ptr<const std::atomic<bool>> unwanted) {
    auto promise = std::make_shared<std::promise<Crew::Outcome>>();
    const auto wide = std::make_shared<const SearchOptions>(SearchOptions{.beam = kRows});
    crew_.submit({.caller = 99,
                  .source = test::random_sentence(99, 5),
                  .search = wide,
                  .unwanted = std::move(unwanted)},
                 [promise](Crew::Outcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future();
  }

  std::atomic<bool> is_over_ = false;
  std::atomic<int> running_ = 0;
  Crew crew_{{test::random_model(test::small_config()).weights()},
             {.beam = 1},
             {.threads = 1, .batch_sentences = kRows}};
};

TEST_F(BusyCrew, HasRoomForAWideBeamInTheEnd) {
  auto outcome = submit_wide(nullptr);
  ASSERT_EQ(outcome.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_FALSE(outcome.get().error);
}

TEST_F(BusyCrew, TellsWhatIsNoLongerWantedWhileItWaits) {
  const auto unwanted = std::make_shared<std::atomic<bool>>(false);
  auto outcome = submit_wide(unwanted);
  *unwanted = true;
  ASSERT_EQ(outcome.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

// More callers than one, so that short sentences may have twice the tokens.
TEST(Crew, TakesAnyNumberOfTokensForABatch) {
  std::atomic<int> done = 0;
  {
    Crew crew({test::random_model(test::small_config()).weights()}, {.beam = 1},
              {.threads = 1, .batch_tokens = INT64_MAX});
    for (uint64_t caller = 1; caller <= 8; ++caller) {
      crew.submit({.caller = caller, .source = test::random_sentence(caller, 5)},
                  [&](const Crew::Outcome& outcome) {
                    EXPECT_FALSE(outcome.error);
                    ++done;
                    done.notify_all();
                  });
    }
    for (int before = done; before < 8; before = done) done.wait(before);
  }
  EXPECT_EQ(done, 8);
}

}  // namespace
}  // namespace residual::decode
