#include "train/ranks/pulse.h"

#include <algorithm>

namespace residual::train {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenSigns = 1s;
constexpr auto kPause = 2s;  // without a call: this process was stopped itself

}  // namespace

Pulse::Pulse(Ranks& ranks, Clock::duration silence)
    : ranks_(ranks), silence_(silence), last_(Clock::now()) {
  const bool leads = ranks.rank() == 0;
  lines_.resize(leads ? static_cast<size_t>(ranks.size()) - 1 : 1);  // transfers point into them
  for (size_t i = 0; i < lines_.size(); ++i) {
    lines_[i].rank = leads ? static_cast<int>(i) + 1 : 0;
    lines_[i].heard = last_;
    listen(lines_[i]);
  }
}

void Pulse::listen(Line& line) {
  line.receiving =
      ranks_.receive(line.rank, kChannel, std::as_writable_bytes(std::span(&line.in, 1)));
}

void Pulse::speak(Line& line, Clock::time_point now) {
  if (line.sending && ranks_.done(*line.sending)) {
    line.sending.reset();
    line.told = static_cast<bool>(line.out);
  }
  const bool has_news = loss_ && !line.told;
  if (line.sending || (now < line.next && !has_news)) return;
  line.out = loss_;
  line.sending = ranks_.send(line.rank, kChannel, std::as_bytes(std::span(&line.out, 1)));
  line.next = now + kBetweenSigns;
}

Loss Pulse::beat() {
  const auto now = Clock::now();
  const bool was_stopped = now - last_ > kPause;
  last_ = now;
  for (Line& line : lines_) {
    while (ranks_.done(line.receiving)) {
      line.heard = now;
      if (line.in && !loss_) loss_ = line.in;
      listen(line);
    }
    if (was_stopped) line.heard = now;
    if (!loss_ && now - line.heard > silence_) loss_ = {Loss::Kind::silent, line.rank};
  }
  for (Line& line : lines_) speak(line, now);
  return loss_;
}

void Pulse::fail() {
  if (!loss_) loss_ = {Loss::Kind::failed, ranks_.rank()};
}

bool Pulse::delivered() const {
  return std::ranges::all_of(
      lines_, [&](const Line& line) { return line.told || line.rank == loss_.rank; });
}

}  // namespace residual::train
