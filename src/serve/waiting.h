#pragma once

#include <prometheus/gauge.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace residual::serve {

// Counts the pending lines of all requests and enforces their limit.
class Waiting {
 public:
  Waiting(int64_t limit, prometheus::Gauge& gauge) : limit_(limit), gauge_(gauge) {}

  // The reservation of a request's lines. enter() returns nothing if the limit is exceeded.
  class Stay {
   public:
    Stay(Waiting& waiting, int64_t lines) : waiting_(&waiting), lines_(lines) {}
    Stay(Stay&& other) noexcept
        : waiting_(std::exchange(other.waiting_, nullptr)), lines_(other.lines_) {}
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay() {
      if (waiting_) waiting_->change(-lines_);
    }

   private:
    Waiting* waiting_;
    int64_t lines_;
  };
  std::optional<Stay> enter(int64_t lines) {
    if (!change(lines)) return std::nullopt;
    return Stay(*this, lines);
  }

  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return lines_ == 0;
  }

 private:
  bool change(int64_t lines) {
    const std::lock_guard lock(mutex_);
    if (lines_ + lines > limit_) return false;
    lines_ += lines;
    gauge_.Set(static_cast<double>(lines_));
    return true;
  }

  mutable std::mutex mutex_;
  int64_t limit_, lines_ = 0;
  prometheus::Gauge& gauge_;
};

}  // namespace residual::serve
