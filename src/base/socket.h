#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>

namespace residual {

// A TCP connection or a listening socket. Errors do not name the other side: the caller knows it.
class Socket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Socket() = default;
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // Listens on all addresses of this machine. Port 0 selects a free port.
  static Socket listen(int port);
  // Retries until `until`, since the other side may not listen yet. After some seconds it logs the
  // reason once.
  static Socket connect(const std::string& host, int port, Time until);
  Socket accept(Time until) const;

  void send(std::span<const char> bytes) const;
  // Receives exactly bytes.size() bytes, or throws an Error.
  void receive(std::span<char> bytes, Time until = Time::max()) const;
  bool is_open() const;  // false once the other side is known to have closed it
  // Ends the connection for both sides and wakes a thread that waits for it.
  void shut_down() const;

  int port() const;           // local port
  std::string here() const;   // local address, numeric
  std::string there() const;  // address of the other side

 private:
  explicit Socket(int file) : file_(file) {}

  int file_ = -1;
};

}  // namespace residual
