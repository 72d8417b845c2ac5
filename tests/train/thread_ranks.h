#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "train/ranks/ranks.h"

// Ranks that are threads of one process.
namespace residual::train::test {

class Network {
 public:
  explicit Network(int size) : size_(size), stopped_(static_cast<size_t>(size)) {}

  int size() const { return size_; }
  // From now on the rank's thread stands still in every call, until the network ends.
  void stop(int rank) { stopped_[static_cast<size_t>(rank)] = true; }
  void pass(int rank) const {
    while (stopped_[static_cast<size_t>(rank)] && !over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void end() { over_ = true; }

  void put(std::tuple<int, int, int> line, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    lines_[line].emplace_back(bytes.begin(), bytes.end());
  }
  bool take(std::tuple<int, int, int> line, std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    auto& waiting = lines_[line];
    if (waiting.empty()) return false;
    std::ranges::copy(waiting.front(), bytes.begin());
    waiting.pop_front();
    return true;
  }

 private:
  int size_;
  std::vector<std::atomic<bool>> stopped_;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> lines_;
};

// Collectives are messages on channels below zero, one for each call.
class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Network& network, int rank) : network_(network), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return network_.size(); }
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    network_.pass(rank_);
    network_.put({rank_, to, channel}, bytes);
    return add({});
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    return add({{from, channel, bytes}});
  }
  Transfer gather(std::span<std::byte> all, std::span<const size_t> ends) override {
    const int channel = --collectives_;
    std::vector<Part> parts;
    for (int rank = 0; rank < size(); ++rank) {
      const auto at = static_cast<size_t>(rank);
      const size_t begin = at == 0 ? 0 : ends[at - 1];
      if (rank != rank_) parts.push_back({rank, channel, all.subspan(begin, ends[at] - begin)});
    }
    const auto own = static_cast<size_t>(rank_);
    const size_t begin = own == 0 ? 0 : ends[own - 1];
    for (const Part& part : parts) {
      send(part.from, channel, all.subspan(begin, ends[own] - begin));
    }
    return add(std::move(parts));
  }
  Transfer spread(std::span<std::byte> bytes) override {
    const int channel = --collectives_;
    if (rank_ > 0) return add({{0, channel, bytes}});
    for (int to = 1; to < size(); ++to) send(to, channel, bytes);
    return add({});
  }
  bool done(Transfer transfer) override {
    network_.pass(rank_);
    auto& parts = transfers_.at(transfer);
    std::erase_if(parts, [&](const Part& p) {
      return network_.take({p.from, rank_, p.channel}, p.bytes);
    });
    if (!parts.empty()) return false;
    transfers_.erase(transfer);
    return true;
  }
  void give_up() override {}

 private:
  struct Part {
    int from, channel;
    std::span<std::byte> bytes;
  };
  Transfer add(std::vector<Part> parts) {
    transfers_[++last_] = std::move(parts);
    return last_;
  }

  Network& network_;
  int rank_;
  int collectives_ = 0;
  Transfer last_ = 0;
  std::map<Transfer, std::vector<Part>> transfers_;
};

}  // namespace residual::train::test
