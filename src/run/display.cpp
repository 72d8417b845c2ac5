#include "run/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace residual::run {
namespace {

constexpr double kSeconds = 0.2;  // between two redraws

}  // namespace

std::string format_status(const Status& s) {
  const auto count = [](double n) { return format_count(static_cast<uint64_t>(std::max(0.0, n))); };
  std::string text = "update " + count(static_cast<double>(s.update));
  if (s.max_updates > 0) text += "/" + count(static_cast<double>(s.max_updates));
  text += fmt::format(" | epoch {} ({:.0f} %) | loss {:.3f} | ppl {:.2f} | lr {:.2e} | |g| {:.3f}",
                      s.epoch, 100 * s.epoch_done, s.loss, s.perplexity, s.learning_rate,
                      s.gradient_norm);
  if (s.tokens_per_second > 0) text += fmt::format(" | {} tokens/s", count(s.tokens_per_second));
  if (s.seconds_left >= 0) text += fmt::format(" | {} left", format_duration(s.seconds_left));
  return text;
}

Display::Display(Progress::Terminal terminal) : terminal_(std::move(terminal)) {}

Display::~Display() { clear(); }

void Display::update(const Status& status) {
  if (!live() || Progress::quiet()) return;
  const double now = terminal_.now().count();
  if (drawn_ >= 0 && now - drawn_ < kSeconds) return;
  drawn_ = now;
  shown_ = true;
  std::string text = format_status(status);
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(1, terminal_.columns - 1))));
  terminal_.write("\r\x1b[K" + text);
}

void Display::line(const std::string& text) {
  clear();
  if (!Progress::quiet()) terminal_.write(text + "\n");
}

void Display::clear() {
  if (std::exchange(shown_, false)) terminal_.write("\r\x1b[K");
}

}  // namespace residual::run
