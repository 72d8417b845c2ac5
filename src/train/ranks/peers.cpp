#include "train/ranks/peers.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace residual::train {
namespace {

constexpr size_t kSpread = 1 << 30;  // bytes at once: MPI counts in ints

// How a process introduces itself.
struct Introduction {
  char host[64];
  char kind[256];
};

template <size_t N>
void copy(const std::string& text, char (&to)[N]) {
  to[text.copy(to, N - 1)] = '\0';
}

std::string host_name() {
  char name[64] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

Peers& Peers::alone() {
  static Peers self;
  return self;
}

Peers::Peers(const Courier::Open& open, const std::string& kind, Courier::Duration silence)
    : courier_(std::make_unique<Courier>(open, silence)),
      rank_(courier_->rank()),
      size_(courier_->size()),
      exceptions_(std::uncaught_exceptions()) {
  introduce(kind);
}

Peers::~Peers() {
  const bool fails = std::uncaught_exceptions() > exceptions_;
  if (courier_ && size_ > 1 && fails) courier_->fail();
}

// Every process compares all introductions, so that each can tell which one differs.
void Peers::introduce(const std::string& kind) {
  std::vector<Introduction> all(static_cast<size_t>(size_));
  copy(host_name(), all[static_cast<size_t>(rank_)].host);
  copy(kind, all[static_cast<size_t>(rank_)].kind);
  complete(std::span(all));
  for (const Introduction& one : all) hosts_.emplace_back(one.host);
  courier_->set_names(hosts_);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    require(std::strcmp(all[rank].kind, all[0].kind) == 0,
            "process {} ({}) is ({}), process 0 ({}) is ({}); their results would differ. Use the "
            "same kind of machine and the same build",
            rank, all[rank].host, all[rank].kind, all[0].host, all[0].kind);
  }
}

void Peers::complete_bytes(std::span<std::byte> all, std::span<const size_t> ends) const {
  if (size_ == 1 || all.empty()) return;
  Collective task([&](Ranks& ranks) { return ranks.gather(all, ends); });
  courier_->run(task);
}

size_t Peers::spread_size(size_t size) const {
  uint64_t wire = size;
  spread_bytes(std::as_writable_bytes(std::span(&wire, 1)));
  return wire;
}

void Peers::spread_bytes(std::span<std::byte> bytes) const {
  if (size_ == 1) return;
  for (size_t begin = 0; begin < bytes.size(); begin += kSpread) {
    const auto piece = bytes.subspan(begin, std::min(kSpread, bytes.size() - begin));
    Collective task([&](Ranks& ranks) { return ranks.spread(piece); });
    courier_->run(task);
  }
}

void Peers::spread(std::string& text) const {
  text.resize(spread_size(text.size()));
  spread_bytes(std::as_writable_bytes(std::span(text)));
}

void Peers::gather(const Slices& slices, std::span<float> all) const {
  if (size_ == 1) return;
  SliceGather task(slices, all, size_);
  courier_->run(task);
}

void Peers::collect(const Slices& slices, std::span<const float> own, std::span<float> all) const {
  if (size_ == 1) {
    std::ranges::copy(own, all.begin());
    return;
  }
  SliceCollect task(slices, own, all, size_);
  courier_->run(task);
}

Peers::InBackground::InBackground(const Peers& peers, Courier::Task& task)
    : courier_(*peers.courier_), task_(task) {
  courier_.start(task_);
}

Peers::InBackground::~InBackground() {
  if (courier_.is_running(task_)) courier_.fail();
}

}  // namespace residual::train
