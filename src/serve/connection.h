#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "serve/connections.h"
#include "serve/limits.h"
#include "serve/message.h"
#include "serve/stream.h"

namespace residual::serve {

// What decides about requests. Calls come from the threads of all connections.
class Handler {
 public:
  virtual ~Handler() = default;
  // The answer to a request whose body need not be read, or nothing.
  virtual std::optional<Answer> refuse(const Request& head) = 0;
  // Answers now, or later from another thread.
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  // Adds what all answers have, before they are sent, and counts them.
  virtual void finish(const Request& request, Answer& answer) = 0;
};

// What the connections of a server share. It must outlive them.
struct Host {
  Limits limits;
  std::chrono::duration<double> timeout{60};  // for an answer
  Connections& connections;
  BodyMemory& bodies;
  Handler& handler;
  std::atomic<bool> is_stopped = false;
};

// One client: reads requests, one after another, and writes their answers. The object lives as long
// as an operation on its socket is pending or a request is being answered. All member functions but
// evict() and stop() run in the strand of the socket.
class Connection final : public Connections::Member,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<TlsContext> tls, Host& host);
  ~Connection() override;

  void start();
  void evict() override;
  void stop() override;

 private:
  class Reply;
  enum class State { waiting, reading, working, streaming, writing, closing };
  using Code = boost::beast::error_code;

  // Reading.
  void wait_for_request();
  void read_head();
  void on_head(Code code);
  std::optional<Answer> fault_of_request(const boost::beast::http::request_header<>& head) const;
  void read_body();
  void on_body(Code code);
  void handle();

  // While an answer is being made.
  void watch();
  void look();

  // Writing.
  void refuse(Answer answer);  // and close
  void respond(Answer answer);
  void begin_stream(const Answer& head);
  void send_part(std::string part, bool is_last);
  void write_parts();
  void on_answered(Code code);
  bool may_continue() const;
  void set_head(boost::beast::http::response_header<>& head, const Answer& answer) const;

  void close();  // after the client could read its answer
  void drain();
  void close_now();

  Host& host_;
  Stream stream_;
  boost::asio::steady_timer watch_;
  Connections::Place place_;
  State state_ = State::waiting;
  boost::beast::flat_buffer buffer_;
  int requests_ = 0;

  // Of the present request.
  std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;
  Request request_;
  std::string chunk_;
  bool is_head_ = false, keeps_alive_ = false, is_spoilt_ = false, was_there_ = false;
  unsigned version_ = 11;
  std::weak_ptr<Reply> reply_;
  std::chrono::steady_clock::time_point until_;

  // Of its answer.
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
  std::optional<boost::beast::http::response_serializer<boost::beast::http::string_body>> writer_;
  std::deque<std::string> parts_;
  bool is_last_part_ = false, is_writing_ = false;
};

// Whether the client has closed the connection or its sending side.
bool has_gone(int socket);

}  // namespace residual::serve
