#include "serve/message.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include <algorithm>
#include <cctype>

#include "decode/json.h"

namespace residual::serve {

namespace http = boost::beast::http;

std::string Request::media_type() const {
  std::string type = header(http::field::content_type);
  type = type.substr(0, type.find(';'));
  type.erase(type.find_last_not_of(" \t") + 1);
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

bool Request::accepts(std::string_view type) const {
  std::string all = header(http::field::accept);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return std::tolower(c); });
  return all.find(type) != std::string::npos;
}

Answer error_answer(int status, const std::string& message) {
  return {.status = status, .body = decode::dump({{"error", message}}) + '\n'};
}

Answer retry_answer(int status, const std::string& message, int seconds) {
  Answer answer = error_answer(status, message);
  answer.headers.emplace_back("Retry-After", std::to_string(seconds));
  return answer;
}

void Exchange::cancel(Reason reason) {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (*unwanted_) return;
    reason_ = reason;
    *unwanted_ = true;
    action = std::move(action_);
  }
  if (action) action();
}

void Exchange::on_cancel(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!*unwanted_) {
      action_ = std::move(action);
      return;
    }
  }
  action();
}

}  // namespace residual::serve
