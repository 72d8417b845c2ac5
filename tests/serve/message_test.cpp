#include "serve/message.h"

#include <gtest/gtest.h>

namespace residual::serve {
namespace {

namespace http = boost::beast::http;

struct Silent : Exchange {
  using Exchange::Exchange;
  void answer(Answer) override {}
  void begin(Answer) override {}
  void send(std::string) override {}
  void end() override {}
};

TEST(Request, HasAMediaTypeWithoutParameters) {
  Request request;
  EXPECT_EQ(request.media_type(), "");
  request.headers.set(http::field::content_type, "Text/Plain ; charset=utf-8");
  EXPECT_EQ(request.media_type(), "text/plain");
}

TEST(Request, AcceptsWhatItsHeaderNames) {
  Request request;
  EXPECT_FALSE(request.accepts("text/event-stream"));
  request.headers.set(http::field::accept, "text/html, Text/Event-Stream;q=0.9");
  EXPECT_TRUE(request.accepts("text/event-stream"));
}

TEST(Exchange, IsCancelledOnce) {
  Silent exchange{Request()};
  int calls = 0;
  exchange.on_cancel([&] { ++calls; });
  EXPECT_FALSE(*exchange.unwanted());
  exchange.cancel(Exchange::Reason::late);
  exchange.cancel(Exchange::Reason::gone);
  EXPECT_TRUE(*exchange.unwanted());
  EXPECT_EQ(exchange.reason(), Exchange::Reason::late);
  EXPECT_EQ(calls, 1);
  exchange.on_cancel([&] { ++calls; });  // too late to wait
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace residual::serve
