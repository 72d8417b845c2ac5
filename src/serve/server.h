#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decode/translator.h"

namespace residual::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                // 0: one that is free
  int connections = 64;           // clients served at the same time; others wait
  int64_t max_request = 1 << 20;  // bytes of a request's body
  int64_t max_waiting = 4096;     // lines of all requests together; who comes then is sent away
  double timeout_seconds = 60;    // for the translation of one request
  std::string allow_origin;       // of pages of other sites that may ask; "*": any
};

// Translations over HTTP:
//
//   POST /translate     {"text": "..."} -> {"text": "..."}, or plain text for plain text
//   GET  /              a page to try it on
//   GET  /model         what the model is, and the search that requests begin with
//   GET  /health        200 while it runs
//   GET  /metrics       for Prometheus
//   GET  /openapi.json  all of this for programs
//
// Lines of all requests share batches, and a line's translation is that of `residual translate`, to
// the byte. A request whose client has gone, or whose time is over, is given up.
class Server {
 public:
  // Takes the address, so that a second server fails at once; clients wait until run().
  explicit Server(const ServerOptions& options);
  ~Server();

  std::string address() const;  // "http://127.0.0.1:8080"
  // Serves until stop(), and then until those who are being served have their answers.
  void run(std::shared_ptr<decode::Translator> translator);
  // From any thread, at any time.
  void stop();

 private:
  class Http;
  std::unique_ptr<Http> http_;
};

}  // namespace residual::serve
