#include "serve/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/error.h"
#include "serve/running.h"

namespace residual::serve {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Listener, SaysWhyItCannotListen) {
  boost::asio::io_context io;
  const Listener first(io, "127.0.0.1", 0);
  EXPECT_GT(first.port(), 0);
  EXPECT_THAT([&] { Listener(io, "127.0.0.1", first.port()); },
              ThrowsMessage<Error>(HasSubstr("cannot listen: Address already in use")));
  EXPECT_THAT([&] { Listener(io, "203.0.113.1", 0); },
              ThrowsMessage<Error>(HasSubstr("cannot listen: Cannot assign requested address")));
  EXPECT_THAT([&] { Listener(io, "no.such.host.invalid", 0); },
              ThrowsMessage<Error>(HasSubstr("cannot listen: no such address")));
}

TEST(Listener, RaisesTheLimitOfOpenFiles) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(allow_connections(500), 500);
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_GE(after.rlim_cur, 500u);
  EXPECT_LT(allow_connections(1 << 30), 1 << 30);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// When the requests of all clients are being answered, the next one hears so at once, and the
// server still says how it is.
TEST(Listener, RefusesWorkWhenNobodyCanBeEvicted) {
  ServerOptions options = kRoomy;
  options.connections = 2;
  const Running server(options);
  std::vector<std::unique_ptr<Raw>> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(std::make_unique<Raw>(server.port()));
    busy.back()->send(post_of(nlohmann::json{{"text", endless_text()}}.dump()));
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));  // a question would evict who still sends
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") == 40000; }));
  const auto refused = server.post(R"({"text": "w1"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_THAT(refused.body, HasSubstr("overloaded: too many clients"));
  EXPECT_EQ(server.request("GET", "/health").status, 200);
}

}  // namespace
}  // namespace residual::serve
