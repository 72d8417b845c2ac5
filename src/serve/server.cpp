#include "serve/server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "decode/json.h"
#include "serve/connection.h"
#include "serve/describe.h"
#include "serve/metrics.h"
#include "serve/request.h"
#include "serve/waiting.h"
#include "serve/watch.h"

namespace residual::serve {

extern const std::string_view page_html;  // web/serve/

namespace {

using decode::Translation;
using httplib::Request;
using httplib::Response;

constexpr const char* kJson = "application/json";
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr int64_t kMostHeaders = 64 << 10;        // bytes
constexpr double kMostAttention = 16 << 20;       // attention weights in one answer, approximately
constexpr int kMostRequests = 1000;               // per connection
constexpr std::chrono::milliseconds kIdle{5000};  // idle time of a connection between requests
constexpr std::chrono::milliseconds kBusy{
    1000};                        // idle time before the first request when all slots are taken
constexpr int kSpareThreads = 2;  // in addition to one per connection
// Delay before a connection without a slot is tried again. The delay shrinks with the number of
// such connections, so that /health answers even when all slots are busy.
constexpr std::chrono::microseconds kPause{20000}, kShortestPause{500};

// The connection that this thread serves.
thread_local Connection* connection = nullptr;

const std::map<std::string, std::string> kMethods = {
    {"/", "GET"},        {"/model", "GET"},        {"/health", "GET"},
    {"/metrics", "GET"}, {"/openapi.json", "GET"}, {"/translate", "POST"}};

void answer_error(Response& response, int status, const std::string& message) {
  response.status = status;
  response.set_content(decode::dump({{"error", message}}) + '\n', kJson);
}

// The media type that a header names, without its parameters.
std::string media_type(const Request& request) {
  std::string type = request.get_header_value("Content-Type");
  type = type.substr(0, type.find(';'));
  type.erase(type.find_last_not_of(" \t") + 1);
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

}  // namespace

class Server::Http : public httplib::Server {
 public:
  explicit Http(const ServerOptions& options)
      : options_(options), waiting_(options.max_waiting, metrics_.waiting) {
    new_task_queue = [this] {
      return pool_ =
                 new httplib::ThreadPool(static_cast<size_t>(options_.connections + kSpareThreads));
    };
    set_payload_max_length(options_.max_request);
    set_keep_alive_max_count(kMostRequests);  // the limit that the library announces to clients
    set_keep_alive_timeout(kIdle.count() / 1000);
    set_tcp_nodelay(true);
    // The library's default socket options would let a second server share the port.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    set_pre_routing_handler([this](const Request& request, Response& response) {
      return refuse(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    set_exception_handler([](const Request&, Response& response, const std::exception_ptr& error) {
      answer_exception(response, error);
    });
    set_error_handler([](const Request&, Response& response) {
      if (!response.body.empty()) return;
      connection->spoil();
      answer_error(response, response.status, "malformed HTTP request");
    });
    set_post_routing_handler(
        [this](const Request& request, Response& response) { finish(request, response); });
    add_handlers();
    bind();
  }

  std::string address() const {
    const bool is_v6 = options_.host.find(':') != std::string::npos;
    return fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", options_.host, is_v6 ? "]" : "",
                       port_);
  }

  void serve(std::shared_ptr<decode::Translator> translator) {
    translator_ = std::move(translator);
    // This also detects a model that cannot translate.
    translator_->pack();
    const std::vector<std::string> line = {"a"};
    translator_->translate(line);
    const bool ended_well = is_stopped_ || listen_after_bind();
    require(ended_well || is_stopped_, "{}: cannot accept connections: {}", address(),
            std::strerror(errno));
  }

  void end() {
    if (is_stopped_.exchange(true)) return;
    ::shutdown(svr_sock_, SHUT_RDWR);  // ends accept(), now or when it is called
  }

 private:
  void bind() {
    port_ = static_cast<int>(options_.port);
    errno = 0;
    if (port_ == 0) {
      port_ = bind_to_any_port(options_.host);
    } else if (!bind_to_port(options_.host, port_)) {
      port_ = -1;
    }
    const std::set<int> causes = {EADDRINUSE, EACCES, EADDRNOTAVAIL};
    require(port_ > 0, "{}:{}: cannot listen: {}", options_.host, options_.port,
            causes.contains(errno) ? std::strerror(errno) : "no such address");
    ::listen(svr_sock_, SOMAXCONN);  // the library lets five wait
  }

  void add_handlers() {
    Get("/", [](const Request&, Response& response) {
      response.set_content(page_html.data(), page_html.size(), "text/html; charset=utf-8");
      response.set_header("Content-Security-Policy",
                          "default-src 'none'; script-src 'unsafe-inline'; style-src "
                          "'unsafe-inline'; connect-src 'self'; base-uri 'none'");
    });
    Get("/openapi.json", [](const Request&, Response& response) {
      static const std::string document = openapi();
      response.set_content(document, kJson);
    });
    Get("/model", [this](const Request&, Response& response) {
      response.set_content(describe(*translator_) + '\n', kJson);
    });
    Get("/health", [](const Request&, Response& response) {
      response.set_content("{\"status\":\"ok\"}\n", kJson);
    });
    Get("/metrics", [this](const Request&, Response& response) {
      response.set_content(metrics_.text(), "text/plain; version=0.0.4; charset=utf-8");
    });
    Post("/translate",
         [this](const Request& request, Response& response, const httplib::ContentReader& reader) {
           translate(request, response, reader);
         });
  }

  // The library calls this for every client, in a thread of its pool. If all slots are taken, only
  // a client whose complete GET request has arrived is served; other connections are queued again.
  bool process_and_close_socket(socket_t socket) override { return process(socket, false); }

  bool process(socket_t socket, bool has_waited) {
    if (++served_ > options_.connections && !has_whole_get(socket)) {
      --served_;
      if (!has_waited) ++without_place_;
      const auto pause = kPause / std::max(1, without_place_.load());
      std::this_thread::sleep_for(std::max(pause, kShortestPause));
      pool_->enqueue([this, socket] { process(socket, true); });
      return true;
    }
    if (has_waited) --without_place_;
    metrics_.connections.Increment();
    {
      Connection mine(socket, is_stopped_);
      connection = &mine;
      try {
        serve_requests(mine);
      } catch (
          const std::exception& error) {  // an error that the library does not catch: out of memory
        log::warn("{}", error.what());
      }
      connection = nullptr;
    }
    --served_;
    metrics_.connections.Decrement();
    return true;
  }

  void serve_requests(Connection& mine) {
    for (int left = kMostRequests; left > 0; --left) {
      if (!wait_for_request(mine, left == kMostRequests)) return;
      mine.begin(kMostHeaders);
      // Close a kept-alive connection while other clients wait for a slot.
      const bool is_last = left == 1 || is_full() || is_stopped_;
      bool is_closed = false;
      if (!process_request(mine, is_last, is_closed, nullptr)) return;
      if (is_last || is_closed || mine.is_spoilt()) return;
    }
  }

  bool is_full() const { return served_ >= options_.connections; }

  bool wait_for_request(const Connection& mine, bool is_first) const {
    constexpr std::chrono::milliseconds kGlance{100};
    const auto begin = Connection::Clock::now();
    while (!mine.wait(kGlance)) {
      const auto patience = !is_full() ? kIdle : is_first ? kBusy : kGlance;
      const bool is_over = Connection::Clock::now() >= begin + patience;
      if (is_over || is_stopped_ || has_gone(mine.socket())) return false;
    }
    return true;
  }

  struct Refusal {
    int status;
    std::string message;
  };

  // Answers requests that the library would handle wrongly, or whose body need not be read.
  bool refuse(const Request& request, Response& response) const {
    correct(const_cast<Request&>(request));
    auto refusal = fault_of_body(request);
    if (!refusal) refusal = fault_of_route(request, response);
    if (!refusal) return response.status == 204;
    connection->spoil();  // its body is not read
    answer_error(response, refusal->status, refusal->message);
    return true;
  }

  // Corrects fields that the library interprets too literally.
  static void correct(Request& request) {
    request.ranges.clear();  // ranges of a translation are useless
    // An absolute request target, as proxies receive it.
    const std::string scheme = "http://";
    if (request.path.starts_with(scheme)) {
      const size_t path = request.path.find('/', scheme.size());
      request.path = path == std::string::npos ? "/" : request.path.substr(path);
    }
    // The library ignores q=0 and would send a refused encoding. Every client accepts an unencoded
    // answer.
    static const std::regex refused(";\\s*q=0(\\.0*)?\\s*(,|$)");
    if (std::regex_search(request.get_header_value("Accept-Encoding"), refused)) {
      request.headers.erase("Accept-Encoding");
    }
  }

  std::optional<Refusal> fault_of_body(const Request& request) const {
    const bool has_length = request.has_header("Content-Length");
    const bool is_chunked = request.has_header("Transfer-Encoding");
    if (request.get_header_value_count("Content-Length") +
            request.get_header_value_count("Transfer-Encoding") >
        1) {
      return {{400, "a request must have exactly one Content-Length or Transfer-Encoding"}};
    }
    std::string coding = request.get_header_value("Transfer-Encoding");
    std::ranges::transform(coding, coding.begin(), [](unsigned char c) { return std::tolower(c); });
    if (is_chunked && coding != "chunked") {
      return {{501, "Transfer-Encoding: only chunked is supported"}};
    }
    const std::string length = request.get_header_value("Content-Length");
    if (has_length && (length.empty() || length.size() > 18 ||
                       length.find_first_not_of("0123456789") != std::string::npos)) {
      return {{400, "Content-Length: expected a number"}};
    }
    if (has_length && std::stoll(length) > options_.max_request) return {{413, too_large()}};
    if (request.has_header("Content-Encoding")) {
      return {{415, "Content-Encoding: not supported; send the body uncompressed"}};
    }
    if (request.method == "POST" && !has_length && !is_chunked) {
      return {{411, "Content-Length is missing"}};
    }
    // The library does not read the body of other methods, and is lax about the end of a chunked
    // body.
    const bool is_left = has_length && length != "0" && request.method != "POST";
    if (is_left || is_chunked) connection->spoil();
    // A chunk of one byte takes six bytes.
    connection->allow(options_.max_request * (is_chunked ? 6 : 1) + kMostHeaders);
    return std::nullopt;
  }

  // Finds an unknown path or method. Also answers CORS preflight requests.
  std::optional<Refusal> fault_of_route(const Request& request, Response& response) const {
    const auto known = kMethods.find(request.path);
    if (known == kMethods.end()) {
      return {{404, fmt::format("unknown path {}; see /openapi.json", request.path)}};
    }
    if (request.method == "OPTIONS" && !options_.allow_origin.empty()) {
      response.set_header("Access-Control-Allow-Methods", known->second);
      response.set_header("Access-Control-Allow-Headers", "Content-Type");
      response.status = 204;
      return std::nullopt;
    }
    const bool is_head = request.method == "HEAD" && known->second == "GET";
    if (request.method != known->second && !is_head) {
      response.set_header("Allow", known->second);
      return {{405, fmt::format("{} only accepts {}", request.path, known->second)}};
    }
    if (request.is_multipart_form_data()) return {{415, kWantedType}};
    return std::nullopt;
  }

  static constexpr const char* kWantedType =
      "Content-Type: expected application/json, with a body like {\"text\": \"...\"}, or "
      "text/plain";

  std::string too_large() const {
    return fmt::format("a request may have at most {} bytes; split it into several",
                       options_.max_request);
  }

  static void answer_exception(Response& response, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      answer_error(response, 503, "out of memory");
    } catch (const std::exception& known) {
      answer_error(response, 500, known.what());
      log::warn("{}", known.what());
    } catch (...) {
      answer_error(response, 500, "unknown");
    }
  }

  // Sets common headers and counts the answer before it is sent.
  void finish(const Request& request, Response& response) {
    connection->answer();
    if (!options_.allow_origin.empty()) {
      response.set_header("Access-Control-Allow-Origin", options_.allow_origin);
    }
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Vary", "Accept-Encoding");
    if (connection->is_spoilt() && !response.has_header("Connection")) {
      response.headers.erase("Keep-Alive");
      response.set_header("Connection", "close");
    }
    const std::string path = kMethods.contains(request.path) ? request.path : "other";
    metrics_.answered(path, response.status);
    log::debug("{} {} {}", request.remote_addr, path, response.status);
  }

  void translate(const Request& request, Response& response, const httplib::ContentReader& reader) {
    std::string body;
    bool is_too_large = false;
    const bool is_whole = reader([&](const char* data, size_t size) {
      is_too_large = body.size() + size > static_cast<size_t>(options_.max_request);
      if (!is_too_large) body.append(data, size);
      return !is_too_large;
    });
    if (!is_whole) {
      connection->spoil();
      return is_too_large ? answer_error(response, 413, too_large())
                          : answer_error(response, 400, "cannot read the request body");
    }
    const auto begin = Watch::Clock::now();
    const std::string type = media_type(request);
    const bool is_plain = type == "text/plain";
    // A client that does not set the type, such as `curl -d`, still sends a JSON object.
    const size_t first = body.find_first_not_of(" \t\r\n");
    const bool is_json = type == kJson || type.ends_with("+json") ||
                         (first != std::string::npos && body[first] == '{');
    if (!is_plain && !is_json) return answer_error(response, 415, kWantedType);
    const decode::SearchOptions& defaults = translator_->options().search;
    if (!is_plain && !request.params.empty()) {
      return answer_error(response, 400,
                          "a JSON request takes no URL query; put all keys into the body");
    }
    try {
      const TranslationRequest wanted =
          is_plain ? parse_text(body, request.params, defaults) : parse_json(body, defaults);
      translate(wanted, is_plain, begin, response);
    } catch (const Error& error) {
      answer_error(response, 400, error.what());
    }
  }

  void translate(const TranslationRequest& wanted, bool is_plain, Watch::Clock::time_point begin,
                 Response& response) {
    const int64_t count = count_lines(wanted);
    if (count > options_.max_waiting) {
      return answer_error(
          response, 413,
          fmt::format("a request may have at most {} lines, this one has {}; split it into several",
                      options_.max_waiting, count));
    }
    if (attention_size(wanted) > kMostAttention) {
      return answer_error(response, 413,
                          "the attention weights of this request are too large; split the request, "
                          "or set with_attention and replace_unk to false");
    }
    const std::chrono::duration<double> time(options_.timeout_seconds);
    Watch::Call call(watch_, connection->socket(),
                     begin + std::chrono::duration_cast<Watch::Clock::duration>(time));
    const auto stay = waiting_.enter(count);
    if (!stay) {
      response.set_header("Retry-After", "1");
      return answer_error(response, 503, "overloaded: too many lines are waiting; try again later");
    }
    const std::vector<Line> lines = lines_of(wanted);
    const auto tools = tools_for(wanted);
    std::vector<Translation> translations;
    try {
      translations =
          translate(lines, {.search = std::make_shared<const decode::SearchOptions>(wanted.search),
                            .tools = tools,
                            .terminology = terminology_of(wanted),
                            .text = wanted.lines,
                            .unwanted = call.unwanted()});
    } catch (const Error&) {
      if (call.reason() == Watch::Reason::none) throw;
      if (call.reason() == Watch::Reason::gone) {
        return answer_error(response, 499, "the client has disconnected");  // as nginx counts them
      }
      return answer_error(response, 504,
                          fmt::format("not translated within {:g} seconds; send a smaller request",
                                      options_.timeout_seconds));
    }
    count_work(translations, begin);
    response.set_content(
        is_plain ? answer_text(translations) : answer_json(wanted, lines, translations),
        is_plain ? kText : kJson);
  }

  std::vector<Translation> translate(const std::vector<Line>& lines,
                                     const decode::Translator::Terms& terms) {
    std::vector<Translation> translations;
    size_t at = 0;
    translator_->translate(
        {.next = [&]() -> std::optional<decode::SourceLine> {
           if (at == lines.size()) return std::nullopt;
           const Line& line = lines[at++];
           return decode::SourceLine{std::string(line.source), std::string(line.prefix)};
         },
         .deliver = [&](Translation t) { translations.push_back(std::move(t)); },
         .terms = terms});
    return translations;
  }

  void count_work(const std::vector<Translation>& translations, Watch::Clock::time_point begin) {
    size_t source = 0, target = 0;
    for (const auto& translation : translations) {
      source += translation.source_pieces.size();
      target += translation.outputs[0].pieces.size();
    }
    metrics_.lines.Increment(static_cast<double>(translations.size()));
    metrics_.source_pieces.Increment(static_cast<double>(source));
    metrics_.target_pieces.Increment(static_cast<double>(target));
    metrics_.seconds.Observe(std::chrono::duration<double>(Watch::Clock::now() - begin).count());
  }

  // Returns the terminology of a request, or null to use the translator's.
  static std::shared_ptr<const decode::Terminology> terminology_of(
      const TranslationRequest& wanted) {
    if (!wanted.has_terms) return nullptr;
    return std::make_shared<decode::Terminology>(wanted.terms);
  }

  // Returns the text tools for the direction of a request, or null to use the translator's.
  std::shared_ptr<const decode::TextTools> tools_for(const TranslationRequest& wanted) {
    const decode::TranslatorOptions& own = translator_->options();
    const decode::TextTools& tools = translator_->tools();
    const bool has_none =
        !tools.model || (tools.pieces && tools.model->description().directions.empty());
    if (has_none && wanted.from.empty() && wanted.to.empty()) return nullptr;
    require(tools.model != nullptr, "from, to: the model has no directions");
    const model::Direction& direction = [&]() -> const model::Direction& {
      try {
        return tools.model->direction(wanted.from.empty() ? own.source : wanted.from,
                                      wanted.to.empty() ? own.target : wanted.to);
      } catch (const Error& error) {  // hide the model's path from clients
        const std::string text = error.what(), path = tools.model->path().string() + ": ";
        fail("from, to: the model {}", text.starts_with(path) ? text.substr(path.size()) : text);
      }
    }();
    const std::lock_guard lock(mutex_);
    auto& known = tools_[{direction.source, direction.target}];
    if (!known) {
      known =
          std::make_shared<decode::TextTools>(tools.towards(direction.source, direction.target));
    }
    return known;
  }

  const ServerOptions options_;
  int port_ = -1;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<int> served_ = 0, without_place_ = 0;  // clients
  httplib::TaskQueue* pool_ = nullptr;
  Metrics metrics_;
  Waiting waiting_;
  Watch watch_;
  std::shared_ptr<decode::Translator> translator_;
  std::mutex mutex_;  // of tools_
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const decode::TextTools>> tools_;
};

Server::Server(const ServerOptions& options) : http_(std::make_unique<Http>(options)) {}
Server::~Server() = default;

std::string Server::address() const { return http_->address(); }
void Server::run(std::shared_ptr<decode::Translator> translator) {
  http_->serve(std::move(translator));
}
void Server::stop() { http_->end(); }

}  // namespace residual::serve
