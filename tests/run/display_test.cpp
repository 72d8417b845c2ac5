#include "run/display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual::run {
namespace {

using testing::HasSubstr;

const Status kStatus{.update = 1200,
                     .max_updates = 50000,
                     .epoch = 3,
                     .epoch_done = 0.45,
                     .loss = 5.1234,
                     .perplexity = 20.1,
                     .learning_rate = 3e-4,
                     .gradient_norm = 1.23,
                     .tokens_per_second = 12345,
                     .seconds_left = 7380};

TEST(Display, SaysWhereTheRunIs) {
  EXPECT_EQ(format_status(kStatus),
            "update 1,200/50,000 | epoch 3 (45 %) | loss 5.123 | ppl 20.10 | lr 3.00e-04 | |g| "
            "1.230 | 12,345 tokens/s | 2h 03m left");
}

TEST(Display, KeepsOneLineOnATerminalAndWritesNoneElsewhere) {
  std::string drawn;
  double time = 0;
  const auto terminal = [&](bool is_terminal) {
    return Progress::Terminal{.is_terminal = is_terminal,
                              .columns = 40,
                              .write = [&](const std::string& text) { drawn += text; },
                              .now = [&] { return std::chrono::duration<double>(time += 1); }};
  };
  {
    Display display(terminal(true));
    display.update(kStatus);
    EXPECT_EQ(drawn, "\r\x1b[K" + format_status(kStatus).substr(0, 39));
    drawn.clear();
    display.line("a line");
    EXPECT_EQ(drawn, "\r\x1b[Ka line\n");
  }
  drawn.clear();
  Display display(terminal(false));
  display.update(kStatus);
  EXPECT_EQ(drawn, "");
}

}  // namespace
}  // namespace residual::run
