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

// Several processes that train one model. They form a chain, each connected with the one before and
// the one after: sums that pass along it are added in the order of the processes, so what comes out
// does not depend on how many there are. All processes call the same functions in the same order.
// If one is gone, the others get an Error that says which.
namespace residual::train {

// A process that is no longer there, or never came.
class PeerLost : public Error {
 public:
  using Error::Error;
};

class Peers {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // This process alone: nothing is sent to anybody.
  Peers() = default;
  static Peers& alone();

  // Meets the others, for as long as `patience`. `kind` must be the same text in all of them:
  // programs or processors that compute differently cannot work together.
  Peers(const run::Place& place, const std::string& kind,
        Duration patience = std::chrono::minutes(10));

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }

  // Of `count` things this process has those from first(count) up to, not including, end(count).
  size_t first(size_t count) const { return first_of(rank_, count); }
  size_t end(size_t count) const { return first_of(rank_ + 1, count); }

  // Every process has filled in its own elements of `all`; afterwards all of them are there.
  template <class T>
  void complete(std::span<T> all) const {
    static_assert(std::is_trivially_copyable_v<T>);
    complete(std::as_writable_bytes(all), all.size());
  }

  // Process 0's in all of them.
  template <class T>
  void spread(std::vector<T>& values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    values.resize(spread_size(values.size()));
    spread(std::as_writable_bytes(std::span(values)));
  }
  void spread(std::string& text) const;

  // own[0] = the sum of all processes' own[0], own[1], ..., one after the other in the order of the
  // processes, from left to right.
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

  // A neighbour. Its address is remembered for when it is gone.
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
