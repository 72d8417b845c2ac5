#include "serve/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "serve/encoding.h"

namespace residual::serve {
namespace {

using testing::HasSubstr;

// An exchange that keeps its answer.
struct Kept : Exchange {
  using Exchange::Exchange;
  Answer kept;
  void answer(Answer given) override { kept = std::move(given); }
  void begin(Answer) override {}
  void send(std::string) override {}
  void end() override {}
};

class Routes : public testing::Test {
 protected:
  Routes() {
    router_.add_page("/page", [] { return Answer{.body = "page"}; });
    router_.add("/work", {.method = "POST",
                          .serve = [](auto e) { e->answer({.body = e->request.body}); },
                          .refuse = [](const Request& head) -> std::optional<Answer> {
                            if (head.body.empty()) return std::nullopt;
                            return error_answer(401, "no");
                          }});
    router_.add("/fails", {.method = "GET", .serve = [](auto) { fail("it broke"); }});
  }
  int refused(const std::string& method, const std::string& path) {
    const auto answer = router_.refuse({.method = method, .path = path});
    return answer ? answer->status : 200;
  }

  Metrics metrics_;
  Router router_{"https://example.org", metrics_};
};

TEST_F(Routes, HaveOneMethodEach) {
  EXPECT_EQ(refused("GET", "/page"), 200);
  EXPECT_EQ(refused("HEAD", "/page"), 200);
  EXPECT_EQ(refused("POST", "/page"), 405);
  EXPECT_EQ(refused("HEAD", "/work"), 405);
  EXPECT_EQ(refused("POST", "/work"), 200);
  EXPECT_EQ(refused("GET", "/other"), 404);
  EXPECT_EQ(refused("OPTIONS", "/work"), 204);
  EXPECT_EQ(router_.refuse({.method = "POST", .path = "/work", .body = "x"})->status, 401);
}

TEST_F(Routes, AnswerAnExceptionWithItsMessage) {
  const auto exchange = std::make_shared<Kept>(Request{.method = "GET", .path = "/fails"});
  router_.handle(exchange);
  EXPECT_EQ(exchange->kept.status, 500);
  EXPECT_THAT(exchange->kept.body, HasSubstr("it broke"));
}

TEST_F(Routes, CompressWhatIsLongForWhoAcceptsIt) {
  Request request{.method = "GET", .path = "/page"};
  const std::string text(10'000, 'x');
  Answer plain{.body = text};
  router_.finish(request, plain);
  EXPECT_EQ(plain.body, text);
  request.headers.set(boost::beast::http::field::accept_encoding, "gzip");
  Answer packed{.body = text}, small{.body = "x"};
  router_.finish(request, packed);
  router_.finish(request, small);
  EXPECT_EQ(gunzip(packed.body, 10'000), text);
  EXPECT_EQ(small.body, "x");
}

TEST_F(Routes, CountAnswersByTheirPath) {
  Answer answer;
  router_.finish({.path = "/page"}, answer);
  router_.finish({.path = "/any/other"}, answer);
  EXPECT_THAT(metrics_.text(), HasSubstr("{path=\"/page\",status=\"200\"} 1"));
  EXPECT_THAT(metrics_.text(), HasSubstr("{path=\"other\",status=\"200\"} 1"));
}

}  // namespace
}  // namespace residual::serve
