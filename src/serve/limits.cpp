#include "serve/limits.h"

#include <fmt/format.h>

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <iterator>

namespace residual::serve {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::ptrdiff_t count(const http::fields& headers, http::field name) {
  const auto [begin, end] = headers.equal_range(name);
  return std::distance(begin, end);
}

std::optional<Answer> fault_of_length(const http::request_header<>& head, const Limits& limits) {
  const std::string length(head[http::field::content_length]);
  if (length.empty() || length.size() > 18 ||
      length.find_first_not_of("0123456789") != std::string::npos) {
    return error_answer(400, "Content-Length: expected a number");
  }
  if (std::stoll(length) > limits.max_request) return too_large(limits.max_request);
  return std::nullopt;
}

}  // namespace

Answer too_large(int64_t max_request) {
  return error_answer(
      413, fmt::format("a request may have at most {} bytes; split it into several", max_request));
}

std::optional<Answer> fault_of_head(const http::request_header<>& head, const Limits& limits) {
  if (head.target().size() > limits.max_target) {
    return error_answer(414, fmt::format("a URL may have at most {} bytes", limits.max_target));
  }
  const auto lengths = count(head, http::field::content_length);
  const auto codings = count(head, http::field::transfer_encoding);
  if (lengths + codings > 1) {
    return error_answer(400, "a request must have exactly one Content-Length or Transfer-Encoding");
  }
  if (codings > 0 && !beast::iequals(head[http::field::transfer_encoding], "chunked")) {
    return error_answer(501, "Transfer-Encoding: only chunked is supported");
  }
  if (lengths > 0) {
    if (auto fault = fault_of_length(head, limits)) return fault;
  }
  const auto encoding = head[http::field::content_encoding];
  if (!encoding.empty() && !beast::iequals(encoding, "gzip") &&
      !beast::iequals(encoding, "identity")) {
    return error_answer(415, "Content-Encoding: only gzip is supported");
  }
  const auto expected = head[http::field::expect];
  if (!expected.empty() && !beast::iequals(expected, "100-continue")) {
    return error_answer(417, "Expect: only 100-continue is supported");
  }
  if (head.method() == http::verb::post && lengths + codings == 0) {
    return error_answer(411, "Content-Length is missing");
  }
  return std::nullopt;
}

BodyMemory::Room::~Room() {
  const std::lock_guard lock(left_->mutex);
  left_->bytes += taken_;
}

bool BodyMemory::Room::grow(int64_t bytes) {
  const int64_t wanted = std::max<int64_t>(bytes - kFree, 0);
  if (wanted <= taken_) return true;
  const std::lock_guard lock(left_->mutex);
  if (left_->bytes < wanted - taken_) return false;
  left_->bytes -= wanted - taken_;
  taken_ = wanted;
  return true;
}

}  // namespace residual::serve
