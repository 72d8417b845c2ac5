#include "decode/team.h"

namespace residual::decode {
namespace {

constexpr int kLooksBeforeSleep = 20000;  // about half a millisecond

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
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
  while (working_.load(std::memory_order_acquire) != 0) pause();
}

void Team::help(int member) {
  uint32_t seen = 0;
  for (;;) {
    for (int look = 0; round_.load(std::memory_order_acquire) == seen; ++look) {
      if (look < kLooksBeforeSleep) {
        pause();
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
  if (team == nullptr || matrix.panels() < team->size()) {
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
