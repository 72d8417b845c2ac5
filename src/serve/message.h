#pragma once

#include <boost/beast/http/fields.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What connections, routes and translations exchange, independent of sockets.
namespace residual::serve {

inline constexpr const char* kJson = "application/json";
inline constexpr const char* kText = "text/plain; charset=utf-8";

struct Request {
  std::string method, path;  // the path is decoded and without its query
  std::multimap<std::string, std::string> query;
  boost::beast::http::fields headers;
  std::string body;
  std::string client;          // address
  std::shared_ptr<void> room;  // of the body, in the memory for bodies

  std::string header(boost::beast::http::field name) const { return headers[name]; }
  // The media type of the body in lower case, without parameters.
  std::string media_type() const;
  // Whether Accept names this media type.
  bool accepts(std::string_view type) const;
};

struct Answer {
  int status = 200;
  std::string type = kJson;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// {"error": message}
Answer error_answer(int status, const std::string& message);
Answer retry_answer(int status, const std::string& message, int seconds);

// Thrown to refuse a request with an answer of its own. An Error is answered with status 400.
struct Refusal : std::exception {
  explicit Refusal(Answer given) : answer(std::move(given)) {}
  const char* what() const noexcept override { return answer.body.c_str(); }
  Answer answer;
};

// A request that waits for its answer. Any thread may answer; the connection cancels.
class Exchange {
 public:
  enum class Reason { none, late, gone };

  explicit Exchange(Request given) : request(std::move(given)) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Call answer() once, or begin(), any number of send(), and end().
  virtual void answer(Answer answer) = 0;
  virtual void begin(Answer head) = 0;  // whose body is ignored
  virtual void send(std::string part) = 0;
  virtual void end() = 0;

  // Becomes true when the deadline has passed or the client has disconnected.
  std::shared_ptr<const std::atomic<bool>> unwanted() const { return unwanted_; }
  Reason reason() const { return reason_; }
  void cancel(Reason reason);
  // Calls `action` on cancellation, at once if that has happened.
  void on_cancel(std::function<void()> action);

  Request request;

 private:
  std::shared_ptr<std::atomic<bool>> unwanted_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<Reason> reason_ = Reason::none;
  std::mutex mutex_;  // of action_
  std::function<void()> action_;
};

}  // namespace residual::serve
