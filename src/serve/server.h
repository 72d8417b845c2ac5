#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decode/translator.h"

namespace residual::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                // 0: any free port
  int connections = 64;           // clients served at the same time; others wait
  int64_t max_request = 1 << 20;  // bytes of a request's body
  int64_t max_waiting = 4096;     // lines in all pending requests; more are refused (503)
  double timeout_seconds = 60;    // for the translation of one request
  std::string allow_origin;       // other site whose pages may send requests; "*": any
};

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
