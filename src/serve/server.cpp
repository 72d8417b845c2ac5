#include "serve/server.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "serve/compat/completions.h"
#include "serve/compat/libretranslate.h"
#include "serve/describe.h"
#include "serve/listener.h"
#include "serve/router.h"
#include "serve/training/runs.h"
#include "serve/translations.h"

namespace residual::serve {

extern const std::string_view page_html;  // web/serve/
namespace asio = boost::asio;

namespace {

constexpr int kIoThreads = 2;
constexpr int64_t kBodies = 256 << 20;  // bytes of all bodies beyond what is free
constexpr std::chrono::seconds kTrim{5};

Answer page() {
  return {.type = "text/html; charset=utf-8",
          .body = std::string(page_html),
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; script-src 'unsafe-inline'; style-src "
                       "'unsafe-inline'; connect-src 'self'; base-uri 'none'"}}};
}

}  // namespace

class Server::Http {
 public:
  explicit Http(const ServerOptions& options)
      : options_(options),
        keys_(options.api_keys),
        tls_(read_tls()),
        router_(options.allow_origin, metrics_),
        connections_(allow_connections(options.connections), metrics_.connections),
        bodies_(std::max<int64_t>(kBodies, 4 * options.max_request)),
        host_{.limits = {.max_request = options.max_request},
              .timeout = std::chrono::duration<double>(options.timeout_seconds),
              .connections = connections_,
              .bodies = bodies_,
              .handler = router_},
        listener_(io_, options.host, options.port),
        trim_(io_),
        translations_(options, metrics_, keys_) {
    if (!options.runs.empty()) runs_.emplace(options.runs);
    add_common_routes();
    listener_.reserve(options.connections);  // before any thread waits for sockets
  }

  std::string address() const {
    const bool is_v6 = options_.host.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", tls_ ? "https" : "http", is_v6 ? "[" : "", options_.host,
                       is_v6 ? "]" : "", listener_.port());
  }

  void run(std::shared_ptr<decode::Translator> translator) {
    if (translator) {
      translations_.set_translator(std::move(translator));
      add_translation_routes();
    } else {
      router_.add_page("/", [] {
        return Answer{.status = 302, .headers = {{"Location", "/runs"}}};
      });
    }
    serve();
  }

  void run(std::shared_ptr<decode::Generator> generator) {
    completions_ = std::make_unique<Completions>(options_, metrics_, keys_, std::move(generator));
    add_completion_routes();
    serve();
  }

  void serve() {
    asio::post(io_, [this] { start(); });
    std::vector<std::thread> threads;
    for (int i = 1; i < kIoThreads; ++i) threads.emplace_back([this] { run_io(); });
    run_io();
    for (auto& thread : threads) thread.join();
  }

  void stop() {
    host_.is_stopped = true;
    asio::post(io_, [this] {
      listener_.stop();
      trim_.cancel();
      connections_.stop_all();
    });
  }

  void reload() {
    try {
      if (auto read = read_tls()) {
        const std::lock_guard lock(mutex_);
        tls_ = std::move(read);
      }
      if (keys_.needs_key()) keys_.reload();
      log::info("certificate and API keys read again");
    } catch (const Error& error) {
      log::warn("{}; the server keeps what it has", error.what());
    }
  }

 private:
  std::shared_ptr<TlsContext> read_tls() const {
    if (options_.tls_cert.empty()) return nullptr;
    return tls_context(options_.tls_cert, options_.tls_key);
  }

  void add_common_routes() {
    router_.add_page("/openapi.json", [document = openapi()] { return Answer{.body = document}; });
    router_.add_page("/health", [] { return Answer{.body = "{\"status\":\"ok\"}\n"}; });
    router_.add_page("/metrics", [this] {
      return Answer{.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.text()};
    });
    if (!runs_) return;
    router_.add_page("/runs", Runs::page);
    router_.add("/runs/list",
                {.method = "GET", .serve = [this](auto e) { runs_->list(std::move(e)); }});
    router_.add("/runs/report",
                {.method = "GET", .serve = [this](auto e) { runs_->report(std::move(e)); }});
  }

  void add_translation_routes() {
    router_.add_page("/", page);
    router_.add_page(
        "/model", [this] { return Answer{.body = describe(translations_.translator()) + '\n'}; });
    router_.add_page("/languages", [this] { return libre_languages(translations_.directions()); });
    router_.add_page("/frontend/settings", [this] {
      return libre_settings(translations_.directions(), keys_.needs_key());
    });
    const auto check_key = [this](const Request& head) { return keys_.refuse(head); };
    router_.add("/translate", {.method = "POST",
                               .serve = [this](auto e) { translations_.translate(std::move(e)); },
                               .refuse = check_key});
    router_.add("/detect", {.method = "POST",
                            .serve = [this](auto e) { translations_.detect(std::move(e)); },
                            .refuse = check_key});
  }

  void add_completion_routes() {
    router_.add_page("/", [] {
      return Answer{.type = kText,
                    .body = "a language model: POST /v1/completions; see /openapi.json\n"};
    });
    router_.add_page("/model", [this] { return Answer{.body = completions_->describe()}; });
    router_.add_page("/v1/models", [this] { return Answer{.body = completions_->models()}; });
    router_.add("/v1/completions",
                {.method = "POST",
                 .serve = [this](auto e) { completions_->complete(std::move(e)); },
                 .refuse = [this](const Request& head) { return keys_.refuse(head); }});
  }

  void start() {
    if (host_.is_stopped) return;
    listener_.start(host_, [this] {
      const std::lock_guard lock(mutex_);
      return tls_;
    });
    trim_later();
  }

  void run_io() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception& error) {  // out of memory: the connection is lost
        log::warn("{}", error.what());
      }
    }
  }

  // Returns memory to the system once no request is waiting. Without this, the memory of a peak
  // stays with the process.
  void trim_later() {
    trim_.expires_after(kTrim);
    trim_.async_wait([this](const boost::system::error_code& code) {
      if (code) return;
      const double now = metrics_.lines.Value() + metrics_.connections.Value();
      const bool is_idle = translations_.is_idle() && (!completions_ || completions_->is_idle());
      if (is_idle && std::exchange(trimmed_at_, now) != now) ::malloc_trim(0);
      trim_later();
    });
  }

  const ServerOptions options_;
  Metrics metrics_;
  KeyRing keys_;
  std::mutex mutex_;  // of tls_
  std::shared_ptr<TlsContext> tls_;
  double trimmed_at_ = -1;  // lines translated and connections open then
  Router router_;
  Connections connections_;
  BodyMemory bodies_;
  Host host_;
  asio::io_context io_;  // handlers that it has left at the end refer to the host
  Listener listener_;
  asio::steady_timer trim_;
  Translations translations_;
  std::unique_ptr<Completions> completions_;  // of a language model
  std::optional<Runs> runs_;
};

Server::Server(const ServerOptions& options) : http_(std::make_unique<Http>(options)) {}
Server::~Server() = default;

std::string Server::address() const { return http_->address(); }
void Server::run(std::shared_ptr<decode::Translator> translator) {
  http_->run(std::move(translator));
}
void Server::run(std::shared_ptr<decode::Generator> generator) { http_->run(std::move(generator)); }
void Server::stop() { http_->stop(); }
void Server::reload() { http_->reload(); }

}  // namespace residual::serve
