#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "serve/connection.h"
#include "serve/message.h"
#include "serve/metrics.h"

namespace residual::serve {

// Finds the route of a request by path and method, and adds what all answers have: headers for
// browsers, compression, counts.
class Router final : public Handler {
 public:
  struct Route {
    std::string method;
    std::function<void(std::shared_ptr<Exchange>)> serve;
    // Before the body is read; may be empty.
    std::function<std::optional<Answer>(const Request&)> refuse = {};
  };

  // Pages of the site `allow_origin` may send requests; empty: only the server's own.
  Router(std::string allow_origin, Metrics& metrics)
      : allow_origin_(std::move(allow_origin)), metrics_(metrics) {}

  void add(const std::string& path, Route route) { routes_[path] = std::move(route); }
  // A GET whose answer `make` returns at once.
  void add_page(const std::string& path, const std::function<Answer()>& make);

  std::optional<Answer> refuse(const Request& head) override;
  void handle(std::shared_ptr<Exchange> exchange) override;
  void finish(const Request& request, Answer& answer) override;

 private:
  std::string allow_origin_;
  Metrics& metrics_;
  std::map<std::string, Route> routes_;
};

// The answer to a request that failed, or was dropped because nobody wants it or its time is over.
Answer fault_of(const Exchange& exchange, const std::exception_ptr& error, double timeout_seconds);

// The answer to an exception that no route expects. It is logged, except out of memory.
Answer answer_to(const std::exception_ptr& error);

}  // namespace residual::serve
