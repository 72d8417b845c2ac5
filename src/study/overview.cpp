#include "study/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace residual::study {
namespace {

constexpr double kTerminalSeconds = 1;
constexpr double kLineSeconds = 60;

}  // namespace

Overview::Overview(const std::vector<Work>& work, fs::path output, Progress::Terminal terminal)
    : output_(std::move(output)),
      terminal_(std::move(terminal)),
      runs_(work.size()),
      start_(terminal_.now().count()),
      shown_(start_) {
  for (const auto& item : work) {
    total_ += item.size;
    done_ += item.size * item.done;
    if (item.action == Action::nothing) ++finished_;
  }
  before_ = done_;
}

Overview::~Overview() { clear(); }

void Overview::say(const std::string& text) {
  clear();
  if (!Progress::quiet()) terminal_.write(text + "\n");
}

void Overview::finished(const Work& work) {
  done_ += work.size * (1 - work.done);
  ++finished_;
}

std::string Overview::status(const std::vector<const Work*>& running) const {
  double done = done_;
  std::vector<std::string> names;
  for (const Work* work : running) {
    const double share = std::max(work->done, share_done(work->cell, output_));
    done += work->size * (share - work->done);
    names.push_back(fmt::format("{} {:.0f} %", work->cell.name, 100 * share));
  }
  std::string text =
      fmt::format("study: {} of {} runs, {:.0f} %", finished_, runs_, 100 * done / total_);
  if (!names.empty()) text += fmt::format(" | {}", fmt::join(names, ", "));
  const double seconds = terminal_.now().count() - start_;
  if (done > before_) {
    text +=
        fmt::format(" | {} left", format_duration(seconds * (total_ - done) / (done - before_)));
  }
  return text;
}

void Overview::show(const std::vector<const Work*>& running) {
  const double now = terminal_.now().count();
  if (Progress::quiet() || now - shown_ < (terminal_.is_terminal ? kTerminalSeconds : kLineSeconds))
    return;
  shown_ = now;
  std::string text = status(running);
  if (!terminal_.is_terminal) {
    terminal_.write(text + "\n");
    return;
  }
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(1, terminal_.columns - 1))));
  terminal_.write("\r\x1b[K" + text);
  drawn_ = true;
}

void Overview::clear() {
  if (std::exchange(drawn_, false)) terminal_.write("\r\x1b[K");
}

}  // namespace residual::study
