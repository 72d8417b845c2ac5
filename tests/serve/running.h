#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "decode/translator.h"
#include "serve/server.h"
#include "support/words.h"

// A server in this process, and clients that speak HTTP byte by byte.
namespace residual::serve {

struct Received {
  int status = 0;  // 0: no answer came
  boost::beast::http::fields headers;
  std::string body;

  std::string header(const std::string& name) const { return headers[name]; }
};

// A socket that is connected to a port of this machine.
class Raw {
 public:
  explicit Raw(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Raw() { close(); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  bool is_connected() const { return is_connected_; }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void end() const { ::shutdown(socket_, SHUT_WR); }
  // Everything up to the end of the connection.
  std::string read() {
    while (receive()) {
    }
    return std::exchange(buffer_, "");
  }
  // Everything up to the end of `text`.
  std::string read_until(const std::string& text) {
    while (buffer_.find(text) == std::string::npos && receive()) {
    }
    const size_t end = buffer_.find(text);
    const size_t size = end == std::string::npos ? buffer_.size() : end + text.size();
    std::string all = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return all;
  }
  // One answer. Nothing but its own bytes is taken.
  Received answer(bool is_head = false) {
    namespace http = boost::beast::http;
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    parser.eager(true);
    parser.skip(is_head);
    boost::beast::error_code code;
    while (!parser.is_done()) {
      const size_t used = parser.put(boost::asio::buffer(buffer_), code);
      buffer_.erase(0, used);
      if (code == http::error::need_more) code = {};
      if (code) return {};
      if (parser.is_done() || receive()) continue;
      if (!parser.is_header_done()) return {};
      parser.put_eof(code);
      if (code || !parser.is_done()) return {};
    }
    auto message = parser.release();
    return {static_cast<int>(message.result_int()), message.base(), std::move(message.body())};
  }

 private:
  bool receive() {
    char bytes[16384];
    const ssize_t got = ::recv(socket_, bytes, sizeof(bytes), 0);
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }

  int socket_;
  bool is_connected_;
  std::string buffer_;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

inline std::string request_of(const std::string& method, const std::string& path,
                              const std::string& body = "", const Headers& headers = {}) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: x\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  if (method == "POST" || !body.empty()) {
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "\r\n" + body;
}

// A POST /translate whose headers end with a line break each.
inline std::string post_of(const std::string& body, const std::string& headers = "") {
  return "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string ask(int port, std::string_view bytes) {
  Raw raw(port);
  raw.send(bytes);
  return raw.read();
}

inline int port_of(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

// A server of a small model in this process.
class Running {
 public:
  explicit Running(ServerOptions options = {}, const decode::TranslatorOptions& translator = {})
      : Running(std::move(options),
                std::make_shared<decode::Translator>(
                    std::vector{test::random_model(test::small_config()).weights()},
                    test::word_tools(), translator)) {}
  Running(ServerOptions options, std::shared_ptr<decode::Translator> translator)
      : server_([&] {
          options.port = 0;
          return options;
        }()),
        translator_(std::move(translator)),
        thread_([this] { server_.run(translator_); }) {}
  ~Running() { stop(); }

  void stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  void reload() { server_.reload(); }
  std::string address() const { return server_.address(); }
  int port() const { return port_of(address()); }
  decode::Translator& translator() { return *translator_; }

  Received request(const std::string& method, const std::string& path, const std::string& body = "",
                   const Headers& headers = {}) const {
    Raw raw(port());
    raw.send(request_of(method, path, body, headers));
    return raw.answer(method == "HEAD");
  }
  Received post(const std::string& body, const std::string& type = "application/json",
                const std::string& path = "/translate", Headers headers = {}) const {
    if (!type.empty()) headers.emplace_back("Content-Type", type);
    return request("POST", path, body, headers);
  }
  nlohmann::json answer(const nlohmann::json& wanted) const {
    return nlohmann::json::parse(post(wanted.dump()).body);
  }
  std::string get(const std::string& path) const { return request("GET", path).body; }
  // A line of /metrics.
  double metric(const std::string& name) const {
    const std::string all = "\n" + get("/metrics");
    const size_t at = all.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(all.substr(at + name.size() + 2));
  }

 private:
  Server server_;
  std::shared_ptr<decode::Translator> translator_;
  std::thread thread_;
};

inline bool comes_true(const std::function<bool()>& holds,
                       std::chrono::seconds within = std::chrono::seconds(20)) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// A sanitizer makes everything so many times slower, about.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlowness = 10;
#else
inline constexpr int kSlowness = 1;
#endif

// Takes far longer than any test waits.
inline std::string endless_text() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += test::words(i, 40) + "\n";
  return text;
}
inline const ServerOptions kRoomy = {.max_request = 64 << 20, .max_waiting = 1 << 20};

}  // namespace residual::serve
