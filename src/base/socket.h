#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>

namespace residual {

// A TCP connection, or a place where others are awaited. Every failure is an Error that does not
// name the other side: the caller knows who that is.
class Socket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Socket() = default;
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // On all addresses of this machine; 0 takes a port that is free.
  static Socket listen(int port);
  // Tries until then: who is to be reached may not have begun to listen. Says once, after some
  // seconds, what keeps it.
  static Socket connect(const std::string& host, int port, Time until);
  Socket accept(Time until) const;

  void send(std::span<const char> bytes) const;
  // All of them, or an Error.
  void receive(std::span<char> bytes, Time until = Time::max()) const;
  bool is_open() const;  // as far as is known: the other side has not closed it
  // Ends the connection for both sides, also for a thread that waits for it.
  void shut_down() const;

  int port() const;           // of this side
  std::string here() const;   // address of this side, in numbers
  std::string there() const;  // address of the other

 private:
  explicit Socket(int file) : file_(file) {}

  int file_ = -1;
};

}  // namespace residual
