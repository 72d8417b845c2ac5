#pragma once

#include <cstdint>
#include <string>

#include "base/config.h"

namespace residual::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  int64_t connections = 4096;
  int64_t parallel = 64;
  int64_t max_request = 1 << 20;
  int64_t max_waiting = 4096;
  double timeout_seconds = 60;
  std::string allow_origin;
  fs::path tls_cert, tls_key;
  fs::path api_keys;
  fs::path runs;
};

inline void fields(ConfigVisitor& visit, ServerOptions& o) {
  visit("host", o.host,
        "address to listen at; with 127.0.0.1 only this machine can connect, with 0.0.0.0 any "
        "machine");
  visit("port", o.port, "port; 0: any free port", {.min = 0, .max = 65535});
  visit("connections", o.connections,
        "maximum open connections; a new client replaces the one that has been sending or idle "
        "for longest",
        {.min = 1, .max = 1'000'000});
  visit("parallel", o.parallel, "requests translated at the same time; others wait",
        {.min = 1, .max = 1000});
  visit("max_request", o.max_request, "maximum bytes of a body", {.min = 1, .max = 1 << 30});
  visit("max_waiting", o.max_waiting, "maximum lines of all requests together",
        {.min = 1, .max = 1 << 30});
  visit("timeout_seconds", o.timeout_seconds, "time for the translation of one request",
        {.min = 0.001, .max = 1e8});
  visit("allow_origin", o.allow_origin,
        "site whose pages may send requests, such as https://example.org or "
        "http://localhost:3000; *: any");
  visit("tls_cert", o.tls_cert,
        "certificate chain in PEM, for HTTPS; SIGHUP reads it and the key again");
  visit("tls_key", o.tls_key, "private key of the certificate in PEM, without a passphrase");
  visit("api_keys", o.api_keys, "file of API keys that clients must give; SIGHUP reads it again");
  visit("runs", o.runs,
        "directory of training runs to show at /runs while they train; --model may then be left "
        "out");
}

}  // namespace residual::serve
