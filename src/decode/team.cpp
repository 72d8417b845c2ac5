#include "decode/team.h"

#include <algorithm>

#include "base/parallel.h"

namespace residual::decode {
namespace {

// A look is about 25 ns. Within the first ones the others are done if they have a core each; a
// while after, there is no work at present.
constexpr int kLooksBeforeYield = 1000;
constexpr int kLooksBeforeSleep = 20000;
// Multiplications below which waking the others costs more than it saves.
constexpr int64_t kWorthSharing = 200'000;
// Parts of a product for each thread: one that comes late still finds some.
constexpr int kPartsEach = 2;

void wait_a_little(int look) {
  if (look >= kLooksBeforeYield) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Team::Team(int threads) : cpu_(current_cpu()) {
  try {
    for (int i = 1; i < threads; ++i) helpers_.emplace_back([this] { help(); });
  } catch (...) {  // the system has no more
    stop();
    throw;
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  stopped_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void Team::run_erased(uint32_t count, Call call, const void* task) {
  call_ = call;
  task_ = task;
  cpu_.store(current_cpu(), std::memory_order_relaxed);
  unfinished_.store(count, std::memory_order_relaxed);
  const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  left_.store(uint64_t{round} << 32 | count, std::memory_order_release);
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  work(round);
  for (int look = 0; unfinished_.load(std::memory_order_acquire) != 0; ++look) wait_a_little(look);
}

void Team::work(uint32_t round) {
  uint64_t left = left_.load(std::memory_order_acquire);
  while (left >> 32 == round && static_cast<uint32_t>(left) > 0) {
    if (!left_.compare_exchange_weak(left, left - 1, std::memory_order_acquire)) continue;
    call_(task_, static_cast<uint32_t>(left) - 1);
    unfinished_.fetch_sub(1, std::memory_order_release);
    left = left_.load(std::memory_order_acquire);
  }
}

void Team::help() {
  leave_cpu(cpu_.load(std::memory_order_relaxed));
  for (uint32_t seen = 0;;) {
    for (int look = 0; round_.load(std::memory_order_acquire) == seen; ++look) {
      if (look < kLooksBeforeSleep) {
        wait_a_little(look);
      } else {
        round_.wait(seen, std::memory_order_acquire);
      }
    }
    if (stopped_) return;
    seen = round_.load(std::memory_order_acquire);
    leave_cpu(cpu_.load(std::memory_order_relaxed));
    work(seen);
  }
}

void multiply(const kernels::PackedMatrix& matrix, const kernels::Product& product, Team* team) {
  const int first = product.first_panel;
  const int panels = (product.last_panel < 0 ? matrix.panels() : product.last_panel) - first;
  const int64_t work = product.rows * matrix.in() * kernels::kPanel * panels;
  if (team == nullptr || panels < team->size() || work < kWorthSharing) {
    matrix.multiply(product);
    return;
  }
  const int parts = std::min(panels, kPartsEach * team->size());
  team->run(static_cast<uint32_t>(parts), [&](uint32_t i) {
    kernels::Product part = product;
    part.first_panel = first + panels * static_cast<int>(i) / parts;
    part.last_panel = first + panels * (static_cast<int>(i) + 1) / parts;
    matrix.multiply(part);
  });
}

}  // namespace residual::decode
