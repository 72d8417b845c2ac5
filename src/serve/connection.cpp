#include "serve/connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <sstream>
#include <utility>

#include "base/log.h"
#include "serve/compat/form.h"

namespace residual::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using std::chrono::milliseconds;

namespace {

constexpr size_t kFirstRead = 4 << 10, kChunk = 8 << 10;  // bytes
constexpr milliseconds kGlance{50};  // between looks at a client whose answer is being made

std::string path_of(std::string_view target) {
  const std::string_view scheme = "http://";  // an absolute target, as proxies receive it
  if (target.starts_with(scheme)) {
    const size_t path = target.find('/', scheme.size());
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  return std::string(target);
}

// Whether the bytes are wrong, in contrast to a timeout or a closed connection.
bool is_malformed(const beast::error_code& code) {
  return code.category() == http::make_error_code(http::error::bad_line_ending).category();
}

Request request_of(const http::request_header<>& head, const asio::ip::tcp::socket& socket) {
  beast::error_code ignored;
  const std::string target = path_of({head.target().data(), head.target().size()});
  const size_t query = std::min(target.find('?'), target.size());
  Request request;
  request.method = std::string(head.method_string());
  request.path = percent_decoded(std::string_view(target).substr(0, query));
  request.query = parse_form(std::string_view(target).substr(std::min(query + 1, target.size())));
  request.headers = head;
  request.client = socket.remote_endpoint(ignored).address().to_string();
  return request;
}

}  // namespace

// The exchange of a connection. It keeps the connection alive.
class Connection::Reply final : public Exchange {
 public:
  Reply(Request given, std::shared_ptr<Connection> connection)
      : Exchange(std::move(given)), connection_(std::move(connection)) {}

  void answer(Answer answer) override {
    connection_->host_.handler.finish(request, answer);
    run([answer = std::move(answer)](Connection& c) mutable { c.respond(std::move(answer)); });
  }
  void begin(Answer head) override {
    connection_->host_.handler.finish(request, head);
    run([head = std::move(head)](Connection& c) { c.begin_stream(head); });
  }
  void send(std::string part) override {
    if (part.empty()) return;  // an empty chunk would end the answer
    run([part = std::move(part)](Connection& c) mutable { c.send_part(std::move(part), false); });
  }
  void end() override {
    run([](Connection& c) { c.send_part("", true); });
  }

 private:
  template <class Action>
  void run(Action action) {
    asio::dispatch(
        connection_->stream_.get_executor(),
        [connection = connection_, action = std::move(action)]() mutable { action(*connection); });
  }

  std::shared_ptr<Connection> connection_;
};

Connection::Connection(asio::ip::tcp::socket socket, std::shared_ptr<TlsContext> tls, Host& host)
    : host_(host),
      stream_(std::move(socket), std::move(tls)),
      watch_(stream_.get_executor()),
      buffer_(2 * host.limits.max_headers) {
  beast::error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

Connection::~Connection() { host_.connections.leave(place_); }

void Connection::start() {
  place_ = host_.connections.enter(weak_from_this());
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    if (!self->stream_.is_tls()) return self->wait_for_request();
    self->stream_.tcp().expires_after(self->host_.limits.handshake);
    self->stream_.async_handshake([self](Code code) {
      if (!code) self->wait_for_request();
    });
  });
}

void Connection::evict() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ != State::working && self->state_ != State::streaming) self->close_now();
  });
}

void Connection::stop() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::waiting) return self->close_now();
    if (self->state_ != State::reading) return;
    self->watch_.expires_after(self->host_.limits.linger);
    self->watch_.async_wait([self](Code code) {
      if (!code && self->state_ == State::reading) self->close_now();
    });
  });
}

void Connection::wait_for_request() {
  state_ = State::waiting;
  host_.connections.wait(place_);
  if (host_.is_stopped) return close();
  if (buffer_.size() > 0) return read_head();  // of a client that did not wait for the answer
  stream_.tcp().expires_after(host_.limits.idle);
  stream_.async_read_some(buffer_.prepare(kFirstRead),
                          [self = shared_from_this()](Code code, size_t bytes) {
                            if (code) return self->close_now();
                            self->buffer_.commit(bytes);
                            self->read_head();
                          });
}

void Connection::read_head() {
  state_ = State::reading;
  stream_.tcp().expires_after(host_.limits.read);
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(host_.limits.max_headers));
  parser_->body_limit(boost::none);  // on_body() counts
  is_head_ = keeps_alive_ = is_spoilt_ = false;
  request_ = {};
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](Code code, size_t) { self->on_head(code); });
}

void Connection::on_head(Code code) {
  if (code == http::error::end_of_stream) return close();
  if (code && !is_malformed(code)) return close_now();
  const auto& head = parser_->get();
  request_ = request_of(head, stream_.socket());
  version_ = head.version();
  if (code == http::error::header_limit) {
    return refuse(error_answer(
        431, fmt::format("headers may have at most {} bytes", host_.limits.max_headers)));
  }
  if (code) return refuse(error_answer(400, "malformed HTTP request"));
  ++requests_;
  is_head_ = head.method() == http::verb::head;
  keeps_alive_ = head.keep_alive();
  if (auto refusal = fault_of_request(head)) return refuse(std::move(*refusal));
  if (parser_->is_done()) return handle();
  if (head.method() != http::verb::post) {  // its body is not read
    is_spoilt_ = true;
    return handle();
  }
  if (request_.header(http::field::expect).empty()) return read_body();
  static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = shared_from_this()](Code failed, size_t) {
                      if (failed) return self->close_now();
                      self->read_body();
                    });
}

std::optional<Answer> Connection::fault_of_request(const http::request_header<>& head) const {
  if (auto fault = fault_of_head(head, host_.limits)) return fault;
  if (auto refusal = host_.handler.refuse(request_)) return refusal;
  if (head.method() == http::verb::post && host_.connections.is_over()) {
    return retry_answer(503, "overloaded: too many clients; try again later", 1);
  }
  return std::nullopt;
}

void Connection::read_body() {
  if (!request_.room) request_.room = std::make_shared<BodyMemory::Room>(host_.bodies);
  chunk_.resize(kChunk);
  auto& body = parser_->get().body();
  body.data = chunk_.data();
  body.size = chunk_.size();
  body.more = true;
  http::async_read_some(stream_, buffer_, *parser_,
                        [self = shared_from_this()](Code code, size_t) { self->on_body(code); });
}

void Connection::on_body(Code code) {
  if (code && code != http::error::need_buffer) {
    if (!is_malformed(code)) return close_now();
    return refuse(error_answer(400, "cannot read the request body"));
  }
  request_.body.append(chunk_.data(), chunk_.size() - parser_->get().body().size);
  const auto size = static_cast<int64_t>(request_.body.size());
  if (size > host_.limits.max_request) return refuse(too_large(host_.limits.max_request));
  if (!std::static_pointer_cast<BodyMemory::Room>(request_.room)->grow(size)) {
    return refuse(retry_answer(503, "overloaded: large requests are waiting; try again later", 1));
  }
  if (!parser_->is_done()) return read_body();
  handle();
}

void Connection::handle() {
  state_ = State::working;
  host_.connections.work(place_);
  chunk_ = {};
  parser_.reset();
  const auto timeout =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(host_.timeout);
  until_ = std::chrono::steady_clock::now() + timeout;
  was_there_ = !has_gone(stream_.socket().native_handle());
  const auto reply = std::make_shared<Reply>(std::move(request_), shared_from_this());
  reply_ = reply;
  host_.handler.handle(reply);
  if (state_ == State::working || state_ == State::streaming) watch();
}

void Connection::watch() {
  watch_.expires_after(kGlance);
  watch_.async_wait([self = shared_from_this()](Code code) {
    if (code || (self->state_ != State::working && self->state_ != State::streaming)) return;
    self->look();
    self->watch();
  });
}

// A client that has closed its sending side before its request was complete may still wait for the
// answer; one that closes it later has left.
void Connection::look() {
  const auto reply = reply_.lock();
  if (!reply) return;
  if (std::chrono::steady_clock::now() >= until_) return reply->cancel(Exchange::Reason::late);
  if (was_there_ && has_gone(stream_.socket().native_handle())) {
    reply->cancel(Exchange::Reason::gone);
  }
}

bool Connection::may_continue() const {
  return keeps_alive_ && !is_spoilt_ && !host_.is_stopped && requests_ < host_.limits.requests;
}

void Connection::set_head(http::response_header<>& head, const Answer& answer) const {
  head.version(version_ == 10 ? 10 : 11);
  head.result(static_cast<unsigned>(answer.status));
  if (!answer.type.empty()) head.set(http::field::content_type, answer.type);
  for (const auto& [name, value] : answer.headers) head.set(name, value);
  head.set(http::field::connection, may_continue() ? "keep-alive" : "close");
}

// Refuses a request whose body has not been read: what follows is no request.
void Connection::refuse(Answer answer) {
  is_spoilt_ = !parser_->is_done() || answer.status >= 400;
  host_.handler.finish(request_, answer);
  respond(std::move(answer));
}

void Connection::respond(Answer answer) {
  state_ = State::writing;
  host_.connections.wait(place_);
  watch_.cancel();
  response_.emplace();
  set_head(*response_, answer);
  response_->content_length(answer.body.size());
  response_->body() = std::move(answer.body);
  writer_.emplace(*response_);
  stream_.tcp().expires_after(host_.limits.write);
  const auto done = [self = shared_from_this()](Code code, size_t) { self->on_answered(code); };
  if (is_head_ || answer.status == 204) return http::async_write_header(stream_, *writer_, done);
  http::async_write(stream_, *writer_, done);
}

void Connection::begin_stream(const Answer& head) {
  state_ = State::streaming;
  http::response<http::empty_body> response;
  if (version_ == 10) keeps_alive_ = false;  // only the end of the connection ends the answer
  set_head(response, head);
  if (version_ != 10) response.chunked(true);
  std::ostringstream text;
  text << response.base();
  parts_.push_back(text.str());
  write_parts();
}

void Connection::send_part(std::string part, bool is_last) {
  if (state_ != State::streaming) return;  // the client has gone
  is_last_part_ = is_last;
  const bool is_chunked = version_ != 10;
  if (is_chunked) part = fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  if (!part.empty()) parts_.push_back(std::move(part));
  write_parts();
}

void Connection::write_parts() {
  if (is_writing_) return;
  if (parts_.empty()) {
    if (std::exchange(is_last_part_, false)) on_answered({});
    return;
  }
  is_writing_ = true;
  stream_.tcp().expires_after(host_.limits.write);
  asio::async_write(stream_, asio::buffer(parts_.front()),
                    [self = shared_from_this()](Code code, size_t) {
                      self->is_writing_ = false;
                      if (code) {
                        if (const auto reply = self->reply_.lock()) {
                          reply->cancel(Exchange::Reason::gone);
                        }
                        return self->close_now();
                      }
                      self->parts_.pop_front();
                      self->write_parts();
                    });
}

void Connection::on_answered(Code code) {
  watch_.cancel();
  if (code) return close_now();
  const bool continues = may_continue();
  writer_.reset();
  response_.reset();
  if (continues) return wait_for_request();
  close();
}

// Closing a socket with unread data resets the connection, and a client would lose an answer that
// it has not read yet. The data is therefore drained for a moment.
void Connection::close() {
  state_ = State::closing;
  stream_.tcp().expires_after(host_.limits.linger);
  if (!stream_.is_tls()) return drain();
  stream_.async_shutdown([self = shared_from_this()](Code) { self->drain(); });
}

void Connection::drain() {
  Code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (!is_spoilt_) return close_now();
  chunk_.resize(kChunk);
  stream_.tcp().async_read_some(asio::buffer(chunk_),
                                [self = shared_from_this()](Code code, size_t) {
                                  if (code) return self->close_now();
                                  self->drain();
                                });
}

void Connection::close_now() {
  state_ = State::closing;
  watch_.cancel();
  stream_.tcp().close();
}

bool has_gone(int socket) {
  pollfd one = {socket, POLLRDHUP, 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace residual::serve
