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

// How much of its share a member fetches, into its caches: what memory gives in the time between
// two products. Between two products of a decoding step one thread works (attention, norms, choice
// of tokens) and the others wait, as does the memory, so a waiting thread prefetches its share of
// the next matrix. For this every thread starts with the same share of each product and helps
// others only then. One sentence on two Emerald Rapids cores takes 3 to 10 % less time (base
// float32 95.5 instead of 99.4 ms, float16 62.9 / 64.6, int8 29.7 / 32.5, small float32
// 19.8 / 21.9; 6d6adb6). In the encoder, with its many rows, it gained nothing.
constexpr size_t kFetched = 512 << 10;
constexpr size_t kFetchedAtOnce = 4 * kernels::kCacheLine;

void rest(int look) {
  if (look >= kLooksBeforeYield) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Whether there was something left to fetch.
bool fetch_some(std::span<const std::byte>& bytes) {
  if (bytes.empty()) return false;
  const auto some = bytes.first(std::min(bytes.size(), kFetchedAtOnce));
  for (size_t i = 0; i < some.size(); i += kernels::kCacheLine) __builtin_prefetch(&some[i]);
  bytes = bytes.subspan(some.size());
  return true;
}

}  // namespace

Team::Team(int threads)
    : size_(std::max(threads, 1)), shares_(std::make_unique<Share[]>(size_)), cpu_(current_cpu()) {
  try {
    for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { help(i); });
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

void Team::run_erased(uint32_t count, Call call, const void* task, Bytes upcoming) {
  call_ = call;
  task_ = task;
  count_ = count;
  upcoming_ = upcoming;
  cpu_.store(current_cpu(), std::memory_order_relaxed);
  unfinished_.store(count, std::memory_order_relaxed);
  const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  for (int i = 0; i < size_; ++i) {
    const uint32_t pieces = begin_of(i + 1, count) - begin_of(i, count);
    shares_[i].left.store(uint64_t{round} << 32 | pieces, std::memory_order_release);
  }
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  Bytes mine = work(0, round, {});
  for (int look = 0; unfinished_.load(std::memory_order_acquire) != 0;) {
    if (!fetch_some(mine)) rest(look++);
  }
}

Team::Bytes Team::work(int member, uint32_t round, Bytes before) {
  Bytes ahead = before;
  for (int i = 0; i < size_; ++i) {
    const int owner = (member + i) % size_;
    auto& pieces = shares_[owner].left;
    uint64_t left = pieces.load(std::memory_order_acquire);
    while (left >> 32 == round && static_cast<uint32_t>(left) > 0) {
      if (!pieces.compare_exchange_weak(left, left - 1, std::memory_order_acquire)) continue;
      if (!upcoming_.empty()) {
        const size_t begin = begin_of(member, upcoming_.size());
        const size_t size = begin_of(member + 1, upcoming_.size()) - begin;
        ahead = upcoming_.subspan(begin, std::min(size, kFetched));
      }
      call_(task_, begin_of(owner + 1, count_) - static_cast<uint32_t>(left));
      unfinished_.fetch_sub(1, std::memory_order_release);
      left = pieces.load(std::memory_order_acquire);
    }
  }
  return ahead;
}

void Team::help(int member) {
  leave_cpu(cpu_.load(std::memory_order_relaxed));
  Bytes mine;
  for (uint32_t seen = 0;;) {
    for (int look = 0; round_.load(std::memory_order_acquire) == seen;) {
      if (fetch_some(mine)) continue;
      if (look < kLooksBeforeSleep) {
        rest(look++);
      } else {
        round_.wait(seen, std::memory_order_acquire);
      }
    }
    // In this order: whoever sees the round that stop() began sees that it was the last.
    seen = round_.load(std::memory_order_acquire);
    if (stopped_) return;
    leave_cpu(cpu_.load(std::memory_order_relaxed));
    mine = work(member, seen, mine);
  }
}

void multiply(const kernels::PackedMatrix& matrix, const kernels::Product& product, Team* team,
              const kernels::PackedMatrix* next) {
  const int first = product.first_panel;
  const int panels = (product.last_panel < 0 ? matrix.panels() : product.last_panel) - first;
  const int64_t work = product.rows * matrix.in() * kernels::kPanel * panels;
  if (team == nullptr || panels < team->size() || work < kWorthSharing) {
    matrix.multiply(product);
    return;
  }
  const int parts = std::min(panels, kPartsEach * team->size());
  team->run(
      static_cast<uint32_t>(parts),
      [&](uint32_t i) {
        kernels::Product part = product;
        part.first_panel = first + panels * static_cast<int>(i) / parts;
        part.last_panel = first + panels * (static_cast<int>(i) + 1) / parts;
        matrix.multiply(part);
      },
      next == nullptr ? std::span<const std::byte>() : next->weights());
}

}  // namespace residual::decode
