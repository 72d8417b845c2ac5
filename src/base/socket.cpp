#include "base/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/log.h"

namespace residual {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kBetweenTries = 200ms;
constexpr auto kOneTry = 5s;
constexpr auto kSilence = 3s;  // before the reason why it takes long is told
// The other side counts as lost after this time without a sign of life: a machine that lost its
// power or its network does not close its connections.
constexpr int kIdleSeconds = 60, kProbeSeconds = 10, kProbes = 6;
constexpr unsigned kUnacknowledged = 120'000;  // milliseconds

std::string reason() { return std::strerror(errno); }

void set(int file, int level, int name, int value) {
  ::setsockopt(file, level, name, &value, sizeof value);
}

void prepare_connection(int file) {
  set(file, IPPROTO_TCP, TCP_NODELAY, 1);
  set(file, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(file, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(file, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(file, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(file, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledged);
}

// Whether `events` came before `until`.
bool wait_for(int file, short events, Socket::Time until) {
  for (;;) {
    int limit = -1;
    if (until != Socket::Time::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      limit = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
    }
    pollfd one = {file, events, 0};
    const int ready = ::poll(&one, 1, limit);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) fail("cannot wait for a connection: {}", reason());
  }
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Returns null, with the reason in `why`, if the host is unknown, perhaps temporarily.
Addresses resolve(const std::string& host, int port, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) why = code == EAI_SYSTEM ? reason() : ::gai_strerror(code);
  return {code == 0 ? found : nullptr, &::freeaddrinfo};
}

// 0, or errno.
int connect_one(int file, const addrinfo& address, Socket::Time until) {
  if (::connect(file, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(file, POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

template <class NameOf>
std::string address_text(int file, NameOf name_of) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST] = "";
  if (name_of(file, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST);
  }
  // An IPv4 address as a socket for both kinds writes it.
  const std::string whole = text, mapped = "::ffff:";
  return whole.starts_with(mapped) ? whole.substr(mapped.size()) : whole;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Socket::~Socket() {
  if (file_ >= 0) ::close(file_);
}

Socket Socket::listen(int port) {
  Socket made(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in6 both{};
  both.sin6_family = AF_INET6;
  both.sin6_port = htons(static_cast<uint16_t>(port));
  sockaddr_in old{};
  old.sin_family = AF_INET;
  old.sin_port = both.sin6_port;
  const auto bind = [&](const auto& address) {
    set(made.file_, SOL_SOCKET, SO_REUSEADDR, 1);
    return ::bind(made.file_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  };
  bool bound = false;
  if (made.file_ >= 0) {
    set(made.file_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    bound = bind(both);
  }
  if (!bound && errno != EADDRINUSE && errno != EACCES) {  // a machine without IPv6
    made = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    bound = made.file_ >= 0 && bind(old);
  }
  require(bound && ::listen(made.file_, SOMAXCONN) == 0, "cannot listen on port {}: {}", port,
          reason());
  return made;
}

Socket Socket::connect(const std::string& host, int port, Time until) {
  std::string why;
  const Time begin = Clock::now();
  for (bool told = false;;) {
    const Addresses addresses = resolve(host, port, why);
    for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
      Socket made(
          ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
      if (made.file_ < 0) continue;
      const int error = connect_one(made.file_, *a, std::min(until, Clock::now() + kOneTry));
      if (error == 0) {
        prepare_connection(made.file_);
        return made;
      }
      why = std::strerror(error);
    }
    if (Clock::now() + kBetweenTries >= until) fail("cannot reach {}:{}: {}", host, port, why);
    if (!told && Clock::now() - begin > kSilence) {
      log::info("cannot reach {}:{} yet: {}; retrying", host, port, why);
      told = true;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Socket Socket::accept(Time until) const {
  for (;;) {
    require(wait_for(file_, POLLIN, until), "no connection arrived in time");
    Socket made(::accept4(file_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (made.file_ >= 0) {
      prepare_connection(made.file_);
      return made;
    }
    // Others are errors of the network on the way to this one, which is gone again.
    constexpr int kOurs[] = {EBADF,  EFAULT, EINVAL,  ENOTSOCK, EMFILE,
                             ENFILE, ENOMEM, ENOBUFS, EPERM};
    require(std::ranges::find(kOurs, errno) == std::end(kOurs), "cannot accept a connection: {}",
            reason());
  }
}

void Socket::send(std::span<const char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done > 0) {
      bytes = bytes.subspan(static_cast<size_t>(done));
    } else if (errno == EAGAIN) {
      wait_for(file_, POLLOUT, Time::max());
    } else if (errno != EINTR) {
      fail("connection lost: {}", reason());
    }
  }
}

void Socket::receive(std::span<char> bytes, Time until) const {
  while (!bytes.empty()) {
    const ssize_t done = ::recv(file_, bytes.data(), bytes.size(), 0);
    if (done > 0) {
      bytes = bytes.subspan(static_cast<size_t>(done));
    } else if (done == 0) {
      fail("the other side closed the connection");
    } else if (errno == EAGAIN) {
      require(wait_for(file_, POLLIN, until), "no data arrived in time");
    } else if (errno != EINTR) {
      fail("connection lost: {}", reason());
    }
  }
}

bool Socket::is_open() const {
  if (file_ < 0) return false;
  char byte = 0;
  const ssize_t got = ::recv(file_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void Socket::shut_down() const {
  if (file_ >= 0) ::shutdown(file_, SHUT_RDWR);
}

int Socket::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
  // The port stands at the same place in both kinds of addresses.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string Socket::here() const { return address_text(file_, ::getsockname); }

std::string Socket::there() const { return address_text(file_, ::getpeername); }

}  // namespace residual
