#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "train/ranks/ranks.h"

namespace residual::train {

// A rank that cannot go on: it is silent, or it has told that it failed.
struct Loss {
  enum class Kind : int32_t { none, silent, failed };

  Kind kind = Kind::none;
  int32_t rank = -1;
  explicit operator bool() const { return kind != Kind::none; }
};

// Finds lost ranks. Every rank sends a sign of life to rank 0 each second, and rank 0 sends one to
// every rank. Rank 0 decides who is lost and tells the others with its next sign; they decide only
// about rank 0. A launcher or MPI itself may find out sooner, or never: a stopped process keeps its
// connections.
class Pulse {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kChannel = 0;

  Pulse(Ranks& ranks, Clock::duration silence);

  // Sends and receives signs. Returns the rank that is lost, always the same from then on.
  Loss beat();
  // Tells the others that this rank fails.
  void fail();
  // Whether the last news of this rank has been sent.
  bool delivered() const;

 private:
  struct Line {  // to another rank
    int rank = 0;
    Loss in = {}, out = {};
    Ranks::Transfer receiving = 0;
    std::optional<Ranks::Transfer> sending = {};
    Clock::time_point heard = {}, next = {};
    bool told = false;  // the loss
  };
  void listen(Line& line);
  void speak(Line& line, Clock::time_point now);

  Ranks& ranks_;
  Clock::duration silence_;
  Clock::time_point last_;  // call of beat()
  std::vector<Line> lines_;
  Loss loss_;
};

}  // namespace residual::train
