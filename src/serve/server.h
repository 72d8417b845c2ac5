#pragma once

#include <memory>
#include <string>

#include "decode/language/generator.h"
#include "decode/translator.h"
#include "serve/options.h"

namespace residual::serve {

// An HTTP server for translation:
//
//   POST /translate     {"text": "..."} -> {"text": "..."}, or plain text for plain text, or events
//   GET  /              a page for trying out the model
//   GET  /runs          a page that follows training runs, see training/runs.h
//   GET  /model         the model and the default search options
//   GET  /health        200 while it runs
//   GET  /metrics       for Prometheus
//   GET  /openapi.json  the machine-readable description of this interface
//
//   POST /v1/completions, GET /v1/models   of a language model, in OpenAI's form
//
// and LibreTranslate's POST /translate and /detect, GET /languages and /frontend/settings.
// Lines of all requests share batches. A line's translation is byte-identical to that of `residual
// translate`. The server drops a request whose client has disconnected or whose deadline has
// passed.
class Server {
 public:
  // Binds the address, so that a second server fails at once, and reads certificate and keys.
  // Clients wait until run().
  explicit Server(const ServerOptions& options);
  ~Server();

  std::string address() const;  // "http://127.0.0.1:8080"
  // Serves until stop(), then finishes the accepted requests. Without a translator it only shows
  // runs.
  void run(std::shared_ptr<decode::Translator> translator);
  // The same for a language model: POST /v1/completions and GET /v1/models instead of translations.
  void run(std::shared_ptr<decode::Generator> generator);
  // Stops the server. May be called from any thread at any time.
  void stop();
  // Reads certificate and keys again, from any thread; on an error, warns and keeps what it has.
  void reload();

 private:
  class Http;
  std::unique_ptr<Http> http_;
};

}  // namespace residual::serve
