#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace residual::serve {

// A client's socket, through which the library reads requests and writes answers. The class adds
// limits that the library lacks: the time for reading and writing, and the size of a request. A
// client that sends very slowly or without end occupies only its thread, and only for a limited
// time.
class Connection : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  // After `is_stopped` becomes true, the connection waits only a moment for the rest of a request.
  Connection(int socket, const std::atomic<bool>& is_stopped);
  // Closes the socket so that the client can still read its answer.
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits for the first byte of a request. Returns false on a timeout or if the client has
  // disconnected.
  bool wait(std::chrono::milliseconds time) const;
  // begin() starts a request whose headers may have `bytes` bytes; allow() adds the limit of its
  // body.
  void begin(int64_t bytes);
  void allow(int64_t bytes) { allowed_ += bytes; }
  // Starts the time limit for writing the answer.
  void answer();

  // Marks the connection as unusable for another request: the next answer is the last.
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
  bool wait_for_rest() const;  // for the rest of the request

  int socket_;
  const std::atomic<bool>& is_stopped_;
  bool is_spoilt_ = false;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;  // range of received bytes that are not read yet
  int64_t allowed_ = 0;      // bytes that may still be received
  mutable Clock::time_point read_until_;
  Clock::time_point write_until_;
};

// Whether the client has closed the connection or its sending side.
bool has_gone(int socket);

// Whether all headers of a GET request have arrived. The check does not consume data.
bool has_whole_get(int socket);

}  // namespace residual::serve
