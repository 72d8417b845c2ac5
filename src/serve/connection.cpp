#include "serve/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace residual::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReadTime{30'000};   // for a whole request
constexpr milliseconds kWriteTime{30'000};  // for a whole answer
constexpr size_t kBuffer = 16 << 10;

using NameOf = int (*)(int, sockaddr*, socklen_t*);

void describe(int socket, NameOf name_of, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (name_of(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return;
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
    port = ntohs(in.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text));
    port = ntohs(in.sin6_port);
  }
  ip = text;
}

}  // namespace

Connection::Connection(int socket, const std::atomic<bool>& is_stopped)
    : socket_(socket), is_stopped_(is_stopped), buffer_(kBuffer) {}

// Closing a socket with unread data resets the connection, and a client would lose an answer that
// it has not read yet. The destructor therefore drains the socket for up to a second.
Connection::~Connection() {
  ::shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + milliseconds(is_spoilt_ ? 1000 : 0);
  while (is_spoilt_ && poll(POLLIN, until)) {
    if (::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) <= 0) break;
  }
  ::close(socket_);
}

bool Connection::poll(short events, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    pollfd one = {socket_, events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool Connection::wait(milliseconds time) const {
  if (at_ < end_) return true;
  char byte = 0;
  return poll(POLLIN, Clock::now() + time) &&
         ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

void Connection::begin(int64_t bytes) {
  allowed_ = bytes;
  read_until_ = write_until_ = Clock::now() + kReadTime;
}

void Connection::answer() { write_until_ = Clock::now() + kWriteTime; }

bool Connection::wait_for_rest() const {
  while (!is_stopped_) {
    const auto until = std::min(read_until_, Clock::now() + milliseconds(200));
    if (poll(POLLIN, until)) return true;
    if (until == read_until_) return false;
  }
  read_until_ =
      std::min(read_until_, Clock::now() + milliseconds(1000));  // keeps the earliest deadline
  return poll(POLLIN, read_until_);
}

bool Connection::is_readable() const { return at_ < end_ || wait_for_rest(); }

bool Connection::is_writable() const { return poll(POLLOUT, Clock::now()) && !has_gone(socket_); }

ssize_t Connection::read(char* to, size_t size) {
  if (at_ == end_) {
    if (allowed_ <= 0 || !wait_for_rest()) return -1;
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return got;
    allowed_ -= got;
    at_ = 0;
    end_ = static_cast<size_t>(got);
  }
  const size_t count = std::min(size, end_ - at_);
  std::memcpy(to, buffer_.data() + at_, count);
  at_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, size_t size) {
  if (!poll(POLLOUT, write_until_)) return -1;
  const ssize_t sent = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : sent;
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  describe(socket_, ::getpeername, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  describe(socket_, ::getsockname, ip, port);
}

bool has_gone(int socket) {
  pollfd one = {socket, POLLRDHUP, 0};
  return ::poll(&one, 1, 0) == 1;
}

bool has_whole_get(int socket) {
  std::array<char, kBuffer> bytes;
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  const std::string_view sent(bytes.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return sent.starts_with("GET ") && sent.find("\r\n\r\n") != std::string_view::npos;
}

}  // namespace residual::serve
