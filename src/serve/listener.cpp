#include "serve/listener.h"

#include <sys/resource.h>

#include <boost/asio/strand.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"

namespace residual::serve {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds kPause{100};  // after an error, such as too many open files

boost::system::error_code listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  boost::system::error_code code;
  acceptor.open(endpoint.protocol(), code);
  if (!code) acceptor.set_option(tcp::acceptor::reuse_address(true), code);
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(tcp::acceptor::max_listen_connections, code);
  boost::system::error_code ignored;
  if (code) acceptor.close(ignored);
  return code;
}

}  // namespace

Listener::Listener(asio::io_context& io, const std::string& host, int64_t port)
    : io_(io), acceptor_(asio::make_strand(io)), pause_(acceptor_.get_executor()) {
  boost::system::error_code code;
  const auto endpoints = tcp::resolver(io).resolve(
      host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service, code);
  for (const auto& each : endpoints) {
    code = listen(acceptor_, each.endpoint());
    if (!code) return;
  }
  const std::set<int> causes = {EADDRINUSE, EACCES, EADDRNOTAVAIL};
  fail("{}:{}: cannot listen: {}", host, port,
       causes.contains(code.value()) ? std::strerror(code.value()) : "no such address");
}

// Asio keeps the state of every socket that was ever open at once. Made together before the first
// client, the states take few pages; made one by one, each would keep a page of its client's memory
// from being returned.
void Listener::reserve(int64_t connections) {
  constexpr int64_t kMost = 4096;
  std::vector<tcp::socket> sockets;
  boost::system::error_code code;
  for (int64_t i = 0; i < std::min(connections, kMost) && !code; ++i) {
    sockets.emplace_back(io_).open(tcp::v4(), code);
  }
}

void Listener::start(Host& host, Contexts contexts) {
  host_ = &host;
  contexts_ = std::move(contexts);
  asio::dispatch(acceptor_.get_executor(), [this] { accept(); });
}

void Listener::stop() {
  asio::dispatch(acceptor_.get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  });
}

void Listener::accept() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept(asio::any_io_executor(asio::make_strand(io_)),
                         [this](const boost::system::error_code& code, tcp::socket socket) {
                           if (code == asio::error::operation_aborted) return;
                           if (code) return pause();
                           on_client(std::move(socket));
                           accept();
                         });
}

void Listener::on_client(tcp::socket socket) {
  host_->connections.make_room();
  std::make_shared<Connection>(std::move(socket), contexts_(), *host_)->start();
}

void Listener::pause() {
  host_->connections.make_room();
  pause_.expires_after(kPause);
  pause_.async_wait([this](const boost::system::error_code& code) {
    if (!code) accept();
  });
}

int64_t allow_connections(int64_t wanted) {
  constexpr int64_t kOthers = 128;  // files of the model, threads, connections that are closing
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto needed = static_cast<rlim_t>(wanted + kOthers);
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  const int64_t allowed = std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - kOthers, 1);
  if (allowed < wanted) {
    log::warn("{} connections at most, because the limit of open files is {}", allowed,
              limit.rlim_cur);
  }
  return std::min(allowed, wanted);
}

}  // namespace residual::serve
