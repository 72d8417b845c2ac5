#include "serve/router.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "serve/encoding.h"
#include "serve/events.h"

namespace residual::serve {
namespace {

namespace http = boost::beast::http;

constexpr size_t kWorthCompressing = 512;  // bytes

void compress(const Request& request, Answer& answer) {
  if (answer.body.size() < kWorthCompressing) return;
  if (!accepts_gzip(request.header(http::field::accept_encoding))) return;
  answer.body = gzip(answer.body);
  answer.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace

void Router::add_page(const std::string& path, const std::function<Answer()>& make) {
  add(path, {.method = "GET", .serve = [make](const std::shared_ptr<Exchange>& exchange) {
               exchange->answer(make());
             }});
}

std::optional<Answer> Router::refuse(const Request& head) {
  const auto known = routes_.find(head.path);
  if (known == routes_.end()) {
    return error_answer(404, fmt::format("unknown path {}; see /openapi.json", head.path));
  }
  const Route& route = known->second;
  if (head.method == "OPTIONS" && !allow_origin_.empty()) {
    return Answer{.status = 204,
                  .type = "",
                  .headers = {{"Access-Control-Allow-Methods", route.method},
                              {"Access-Control-Allow-Headers", "Content-Type, Authorization"}}};
  }
  if (head.method != route.method && !(head.method == "HEAD" && route.method == "GET")) {
    Answer answer = error_answer(405, fmt::format("{} only accepts {}", head.path, route.method));
    answer.headers.emplace_back("Allow", route.method);
    return answer;
  }
  return route.refuse ? route.refuse(head) : std::nullopt;
}

void Router::handle(std::shared_ptr<Exchange> exchange) {
  try {
    routes_.at(exchange->request.path).serve(exchange);
  } catch (...) {
    exchange->answer(answer_to(std::current_exception()));
  }
}

void Router::finish(const Request& request, Answer& answer) {
  if (!allow_origin_.empty()) {
    answer.headers.emplace_back("Access-Control-Allow-Origin", allow_origin_);
  }
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  compress(request, answer);
  const std::string path = routes_.contains(request.path) ? request.path : "other";
  metrics_.answered(path, answer.status);
  log::debug("{} {} {}", request.client, path, answer.status);
}

Answer fault_of(const Exchange& exchange, const std::exception_ptr& error, double timeout_seconds) {
  switch (exchange.reason()) {
    case Exchange::Reason::gone:
      return error_answer(499, "the client has disconnected");  // as nginx counts them
    case Exchange::Reason::late:
      return error_answer(504, fmt::format("not translated within {:g} seconds; send a smaller "
                                           "request",
                                           timeout_seconds));
    case Exchange::Reason::none:
      break;
  }
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return error_answer(400, known.what());
  } catch (...) {
    return answer_to(std::current_exception());
  }
}

Answer answer_to(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return retry_answer(503, "out of memory", 1);
  } catch (const std::exception& known) {
    log::warn("{}", known.what());
    return error_answer(500, known.what());
  }
}

}  // namespace residual::serve
