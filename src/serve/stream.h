#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <memory>
#include <utility>

#include "serve/tls.h"

namespace residual::serve {

// A client's socket with or without TLS, as one type: the code that reads and writes HTTP is
// compiled once.
class Stream {
 public:
  using Tcp = boost::beast::tcp_stream;
  using executor_type = Tcp::executor_type;

  // Without a context, the stream is plain.
  Stream(boost::asio::ip::tcp::socket socket, std::shared_ptr<TlsContext> context)
      : tcp_(std::move(socket)), context_(std::move(context)) {
    if (context_) tls_ = std::make_unique<Tls>(tcp_, *context_);
  }

  executor_type get_executor() { return tcp_.get_executor(); }
  Tcp& tcp() { return tcp_; }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  bool is_tls() const { return tls_ != nullptr; }

  template <class Handler>
  void async_handshake(Handler&& handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  template <class Handler>
  void async_shutdown(Handler&& handler) {
    tls_->async_shutdown(std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
                : tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Handler>(handler))
                : tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  using Tls = boost::asio::ssl::stream<Tcp&>;

  Tcp tcp_;
  std::shared_ptr<TlsContext> context_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace residual::serve
