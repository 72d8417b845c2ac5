#include "decode/team.h"

namespace residual::decode {
namespace {

// A look is about 25 ns. Within the first ones the others are done if they have a core each; a
// while after, there is no work at present.
constexpr int kLooksBeforeYield = 1000;
constexpr int kLooksBeforeSleep = 20000;
// Multiplications below which waking the others costs more than it saves.
constexpr int64_t kWorthSharing = 200'000;

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

Team::Team(int threads) {
  for (int member = 1; member < threads; ++member) {
    helpers_.emplace_back([this, member] { help(member); });
  }
}

Team::~Team() {
  stopped_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void Team::run_erased(Call call, const void* task) {
  call_ = call;
  task_ = task;
  working_.store(static_cast<uint32_t>(helpers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  call(task, 0);
  for (int look = 0; working_.load(std::memory_order_acquire) != 0; ++look) wait_a_little(look);
}

void Team::help(int member) {
  uint32_t seen = 0;
  for (;;) {
    for (int look = 0; round_.load(std::memory_order_acquire) == seen; ++look) {
      if (look < kLooksBeforeSleep) {
        wait_a_little(look);
      } else {
        round_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (stopped_) return;
    call_(task_, member);
    working_.fetch_sub(1, std::memory_order_release);
  }
}

void multiply(const kernels::PackedMatrix& matrix, const kernels::Product& product, Team* team) {
  const int64_t work = product.rows * matrix.in() * matrix.out();
  if (team == nullptr || matrix.panels() < team->size() || work < kWorthSharing) {
    matrix.multiply(product);
    return;
  }
  team->run([&](int member) {
    kernels::Product part = product;
    part.first_panel = matrix.panels() * member / team->size();
    part.last_panel = matrix.panels() * (member + 1) / team->size();
    matrix.multiply(part);
  });
}

}  // namespace residual::decode
