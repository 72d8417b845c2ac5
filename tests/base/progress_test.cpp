#include "base/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Screen {
  bool is_terminal;
  std::string text{};
  double seconds = 100;

  Progress::Terminal terminal() {
    return {.is_terminal = is_terminal,
            .columns = 80,
            .write = [this](const std::string& piece) { text += piece; },
            .now = [this] { return std::chrono::duration<double>(seconds); }};
  }
};

TEST(Progress, DrawsABarWithRateAndTimeLeftOnATerminal) {
  Screen screen{.is_terminal = true};
  Progress progress("reading", 1000, "lines", screen.terminal());
  screen.seconds += 2;
  progress.add(250);
  EXPECT_EQ(screen.text,
            "\r\x1b[Kreading: [######..................] 25 % of 1,000 lines, 125/s, 6.0s left");
  screen.seconds += 2;
  progress.add(750);
  progress.finish();
  EXPECT_THAT(screen.text, HasSubstr("100 % of 1,000 lines, 250/s, 4.0s\n"));
}

TEST(Progress, LeavesOutTheBarWhereThereIsNoRoom) {
  Screen screen{.is_terminal = true};
  auto terminal = screen.terminal();
  terminal.columns = 60;
  Progress progress("reading", 1000, "lines", std::move(terminal));
  screen.seconds += 2;
  progress.add(250);
  EXPECT_EQ(screen.text, "\r\x1b[Kreading: 25 % of 1,000 lines, 125/s, 6.0s left");
}

TEST(Progress, RedrawsNoMoreThanTenTimesASecond) {
  Screen screen{.is_terminal = true};
  Progress progress("reading", 1000, "lines", screen.terminal());
  for (int i = 0; i < 1000; ++i) {
    screen.seconds += 0.001;
    progress.add();
  }
  EXPECT_LE(std::count(screen.text.begin(), screen.text.end(), '\r'), 10);
}

TEST(Progress, WritesALineEveryFewSecondsElsewhere) {
  Screen screen{.is_terminal = false};
  {
    Progress progress("reading", 0, "lines", screen.terminal());
    for (int i = 0; i < 12; ++i) {
      screen.seconds += 1;
      progress.add(10);
    }
  }
  EXPECT_EQ(screen.text, "reading: 50 lines, 10/s\nreading: 100 lines, 10/s\n");
}

TEST(Progress, SaysNothingWhenQuiet) {
  Screen screen{.is_terminal = true};
  Progress::set_quiet(true);
  {
    Progress progress("reading", 10, "lines", screen.terminal());
    screen.seconds += 10;
    progress.add(10);
    progress.finish();
  }
  Progress::set_quiet(false);
  EXPECT_EQ(screen.text, "");
}

TEST(Progress, LeavesTheLineWhenInterrupted) {
  Screen screen{.is_terminal = true};
  {
    Progress progress("reading", 10, "lines", screen.terminal());
    screen.seconds += 1;
    progress.add(1);
    EXPECT_THAT(screen.text, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(screen.text.back(), '\n');
}

TEST(FormatDuration, ReadsLikeASentence) {
  EXPECT_EQ(format_duration(0.04), "0.0s");
  EXPECT_EQ(format_duration(59), "59s");
  EXPECT_EQ(format_duration(187), "3m 07s");
  EXPECT_EQ(format_duration(3720), "1h 02m");
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(12345678), "12,345,678");
}

}  // namespace
}  // namespace residual
