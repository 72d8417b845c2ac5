#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>

#include "serve/connection.h"

namespace residual::serve {

// Accepts clients at an address and starts their connections.
class Listener {
 public:
  using Contexts = std::function<std::shared_ptr<TlsContext>()>;  // null: no TLS

  // Binds the address; port 0 is any free one. Clients wait until start().
  Listener(boost::asio::io_context& io, const std::string& host, int64_t port);

  int port() const { return acceptor_.local_endpoint().port(); }
  // Allocates what so many connections share, up to some thousands.
  void reserve(int64_t connections);
  void start(Host& host, Contexts contexts);
  // From a thread of the io_context.
  void stop();

 private:
  void accept();
  void on_client(boost::asio::ip::tcp::socket socket);
  void pause();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  Host* host_ = nullptr;
  Contexts contexts_;
};

// Raises the limit of open files as far as allowed. Returns how many connections fit.
int64_t allow_connections(int64_t wanted);

}  // namespace residual::serve
