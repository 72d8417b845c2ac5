#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace residual::serve {

// A client's socket, through which the library reads requests and writes answers. It bounds what
// the library leaves open: the time that either may take, and the bytes of a request, so that
// neither a client that sends a byte a second nor one that never ends holds more than its own
// thread, nor that for long.
class Connection : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  // Once stopped, it waits a moment for the rest of a request, no longer.
  Connection(int socket, const std::atomic<bool>& is_stopped);
  // Closes the socket in such a way that the client can still read its answer.
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits for the first byte of a request; false: none came, or the client has gone.
  bool wait(std::chrono::milliseconds time) const;
  // A request begins, whose headers may have so many bytes; its body, then, so many more.
  void begin(int64_t bytes);
  void allow(int64_t bytes) { allowed_ += bytes; }
  // Its answer begins.
  void answer();

  // What follows in the connection is not a request: this must be its last answer.
  void spoil() { is_spoilt_ = true; }
  bool is_spoilt() const { return is_spoilt_; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool poll(short events, Clock::time_point until) const;
  bool wait_for_rest() const;  // of the request

  int socket_;
  const std::atomic<bool>& is_stopped_;
  bool is_spoilt_ = false;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;  // of what was received and not read yet
  int64_t allowed_ = 0;      // bytes that may still be received
  mutable Clock::time_point read_until_;
  Clock::time_point write_until_;
};

// Whether the other side has closed, or at least will not send any more.
bool has_gone(int socket);

// Whether all headers of a GET have come, so that nobody need wait for them; nothing is read.
bool has_whole_get(int socket);

}  // namespace residual::serve
