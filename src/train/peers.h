#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/socket.h"
#include "run/place.h"

// Several processes that train one model. They form a chain, in which each is connected to its
// predecessor and its successor. Sums along the chain are added in the order of the processes, so
// the result does not depend on their number. All processes call the same functions in the same
// order. If one disappears, the others get an Error that names it.
namespace residual::train {

// Thrown when a process has disappeared or never connected.
class PeerLost : public Error {
 public:
  using Error::Error;
};

class Peers {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // A single process, which sends nothing.
  Peers() = default;
  static Peers& alone();

  // Connects to the other processes, for at most `patience`. `kind` must be the same text in all of
  // them, because builds or CPUs that compute differently cannot train together.
  Peers(const run::Place& place, const std::string& kind,
        Duration patience = std::chrono::minutes(10));

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }

  // This process's share of `count` elements is [first(count), end(count)).
  size_t first(size_t count) const { return first_of(rank_, count); }
  size_t end(size_t count) const { return first_of(rank_ + 1, count); }

  // Completes `all`, of which every process has filled in its own share, in every process.
  template <class T>
  void complete(std::span<T> all) const {
    static_assert(std::is_trivially_copyable_v<T>);
    complete(std::as_writable_bytes(all), all.size());
  }

  // Copies the value of process 0 to all processes.
  template <class T>
  void spread(std::vector<T>& values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    values.resize(spread_size(values.size()));
    spread(std::as_writable_bytes(std::span(values)));
  }
  void spread(std::string& text) const;

  // Sets own[0] to the sum of all processes' own[0], own[1], ..., added from left to right in the
  // order of the processes.
  void add_in_order(std::span<const std::span<float>> own) const;

 private:
  size_t first_of(int rank, size_t count) const {
    return count * static_cast<size_t>(rank) / static_cast<size_t>(size_);
  }
  void meet_as_first(const run::Place& place, const std::string& kind, Socket::Time until);
  void meet_as_other(const run::Place& place, const std::string& kind, Socket::Time until);
  void complete(std::span<std::byte> all, size_t count) const;
  size_t spread_size(size_t size) const;
  void spread(std::span<std::byte> bytes) const;
  void hand_on(std::span<const std::span<float>> own, std::atomic<size_t>& handed_on) const;
  void take_back(std::span<float> all, const std::atomic<size_t>& handed_on) const;
  bool is_last() const { return rank_ + 1 == size_; }

  // A neighbour in the chain. Its address is kept for the message if it disappears.
  struct Link {
    int rank = -1;
    Socket socket = {};
    std::string address = {};

    Link() = default;
    Link(int rank, Socket socket);
    void send(std::span<const char> bytes) const;
    void receive(std::span<char> bytes, Socket::Time until = Socket::Time::max()) const;
  };

  int rank_ = 0, size_ = 1;
  Link before_, after_;
};

}  // namespace residual::train
