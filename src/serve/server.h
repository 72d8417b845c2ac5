#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decode/translator.h"

namespace residual::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  int64_t connections = 64;
  int64_t max_request = 1 << 20;
  int64_t max_waiting = 4096;
  double timeout_seconds = 60;
  std::string allow_origin;
};

inline void fields(ConfigVisitor& visit, ServerOptions& o) {
  visit("host", o.host,
        "address to listen at; with 127.0.0.1 only this machine can connect, with 0.0.0.0 any "
        "machine");
  visit("port", o.port, "port; 0: any free port", {.min = 0, .max = 65535});
  visit("connections", o.connections,
        "clients served at the same time; others wait, except for GET requests",
        {.min = 1, .max = 1000});
  visit("max_request", o.max_request, "maximum bytes of a body", {.min = 1, .max = 1 << 30});
  visit("max_waiting", o.max_waiting, "maximum lines of all requests together",
        {.min = 1, .max = 1 << 30});
  visit("timeout_seconds", o.timeout_seconds, "time for the translation of one request",
        {.min = 0.001, .max = 1e8});
  visit("allow_origin", o.allow_origin,
        "site whose pages may send requests, such as https://example.org or "
        "http://localhost:3000; *: any");
}

// An HTTP server for translation:
//
//   POST /translate     {"text": "..."} -> {"text": "..."}, or plain text for plain text
//   GET  /              a page for trying out the model
//   GET  /model         the model and the default search options
//   GET  /health        200 while it runs
//   GET  /metrics       for Prometheus
//   GET  /openapi.json  the machine-readable description of this interface
// Lines of all requests share batches. A line's translation is byte-identical to that of `residual
// translate`. The server drops a request whose client has disconnected or whose deadline has
// passed.
class Server {
 public:
  // Binds the address, so that a second server fails at once. Clients wait until run().
  explicit Server(const ServerOptions& options);
  ~Server();

  std::string address() const;  // "http://127.0.0.1:8080"
  // Serves until stop(), then finishes the accepted requests.
  void run(std::shared_ptr<decode::Translator> translator);
  // Stops the server. May be called from any thread at any time.
  void stop();

 private:
  class Http;
  std::unique_ptr<Http> http_;
};

}  // namespace residual::serve
