#include "base/partial_files.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

namespace residual {
namespace {

enum class State { free, changing, remembered };
static_assert(std::atomic<State>::is_always_lock_free);  // a signal's handler reads it

struct Place {
  std::atomic<State> state = State::free;
  std::array<char, PATH_MAX> path = {};
};
std::array<Place, 8> places;

bool take(Place& place, State from) noexcept {
  return place.state.compare_exchange_strong(from, State::changing);
}

void end(int signal) {
  for (auto& place : places) {
    if (place.state == State::remembered) ::unlink(place.path.data());
  }
  ::raise(signal);  // with its own effect: SA_RESETHAND
}

}  // namespace

void remember_partial_file(const std::string& path) noexcept {
  if (path.size() >= PATH_MAX) return;
  for (auto& place : places) {
    if (!take(place, State::free)) continue;
    std::memcpy(place.path.data(), path.c_str(), path.size() + 1);
    place.state = State::remembered;
    return;
  }
}

void forget_partial_file(const std::string& path) noexcept {
  for (auto& place : places) {
    if (!take(place, State::remembered)) continue;
    const bool is_it = path == place.path.data();
    place.state = is_it ? State::free : State::remembered;
    if (is_it) return;
  }
}

void remove_partial_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {}, action = {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    action.sa_handler = end;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace residual
