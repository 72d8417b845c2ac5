#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <utility>

namespace residual {
namespace {

constexpr double kTerminalSeconds = 0.1;
constexpr double kLineSeconds = 5;
constexpr int kBarColumns = 24;

std::atomic<bool> is_quiet{false};

std::string bar(double fraction) {
  std::string text = "[";
  const int filled = static_cast<int>(fraction * kBarColumns);
  for (int i = 0; i < kBarColumns; ++i) text += i < filled ? '#' : '.';
  return text + "]";
}

}  // namespace

Progress::Terminal Progress::Terminal::standard_error() {
  winsize size{};
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool sized = is_terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return {.is_terminal = is_terminal,
          .columns = sized && size.ws_col > 0 ? size.ws_col : 80,
          .write =
              [](const std::string& text) {
                std::fwrite(text.data(), 1, text.size(), stderr);
                std::fflush(stderr);
              },
          .now = [] { return std::chrono::steady_clock::now().time_since_epoch(); }};
}

Progress::Progress(std::string label, uint64_t total, std::string unit, Terminal terminal)
    : label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      terminal_(std::move(terminal)),
      start_(terminal_.now().count()),
      drawn_(start_) {}

Progress::~Progress() {
  // Interrupted by an error: the message that follows starts on a line of its own.
  if (!finished_ && any_drawn_ && terminal_.is_terminal) terminal_.write("\n");
}

void Progress::add(uint64_t n) {
  const std::lock_guard lock(mutex_);
  done_ += n;
  const double interval = terminal_.is_terminal ? kTerminalSeconds : kLineSeconds;
  if (terminal_.now().count() - drawn_ >= interval) draw(false);
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(finished_, true)) draw(true);
}

void Progress::draw(bool last) {
  if (is_quiet) return;
  drawn_ = terminal_.now().count();
  any_drawn_ = true;
  const double seconds = std::max(1e-9, drawn_ - start_);
  const double rate = static_cast<double>(done_) / seconds;
  const double fraction =
      total_ == 0 ? 0 : std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  std::string text;
  if (total_ > 0) {
    text += fmt::format("{:.0f} % of {} {}", 100 * fraction, format_count(total_), unit_);
  } else {
    text += fmt::format("{} {}", format_count(done_), unit_);
  }
  text += fmt::format(", {}/s", format_count(static_cast<uint64_t>(rate)));
  if (last) {
    text += fmt::format(", {}", format_duration(seconds));
  } else if (total_ > done_ && rate > 0) {
    text += fmt::format(", {} left", format_duration(static_cast<double>(total_ - done_) / rate));
  }
  const std::string label = label_ + ": ";
  if (!terminal_.is_terminal) {
    terminal_.write(label + text + "\n");
    return;
  }
  // The bar goes first where there is no room for all.
  const auto room = static_cast<size_t>(std::max(1, terminal_.columns - 1));
  const bool has_bar = total_ > 0 && label.size() + kBarColumns + 3 + text.size() <= room;
  text = label + (has_bar ? bar(fraction) + " " : "") + text;
  text.resize(std::min(text.size(), room));
  terminal_.write("\r\x1b[K" + text + (last ? "\n" : ""));
}

void Progress::set_quiet(bool quiet) { is_quiet = quiet; }
bool Progress::quiet() { return is_quiet; }

std::string format_duration(double seconds) {
  const auto total = std::lround(seconds);
  const long hours = total / 3600, minutes = total / 60 % 60, rest = total % 60;
  if (hours > 0) return fmt::format("{}h {:02}m", hours, minutes);
  if (minutes > 0) return fmt::format("{}m {:02}s", minutes, rest);
  if (seconds < 10) return fmt::format("{:.1f}s", seconds);
  return fmt::format("{}s", rest);
}

std::string format_count(uint64_t n) {
  std::string text = fmt::format("{}", n);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace residual
