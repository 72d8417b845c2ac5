#include "serve/translations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/encoding.h"
#include "serve/running.h"

namespace residual::serve {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

const Headers kPacked = {{"Content-Encoding", "gzip"}, {"Content-Type", "application/json"}};

TEST(Translations, TakeCompressedBodies) {
  const Running server({.max_request = 10'000});
  const auto post = [&](const std::string& body) {
    return server.request("POST", "/translate", body, kPacked);
  };
  const std::string body = R"({"text": "w1 w2"})";
  EXPECT_EQ(post(gzip(body)).body, server.post(body).body);
  const auto cut = post(gzip(body).substr(0, 20));
  EXPECT_EQ(cut.status, 400);
  EXPECT_THAT(cut.body, HasSubstr("Content-Encoding"));
  EXPECT_EQ(post(body).status, 400);
  EXPECT_EQ(post(gzip(std::string(8 << 20, ' '))).status, 413);  // 8 KB as it comes
}

TEST(Translations, RefuseAtOnceWhatTheyCannotHold) {
  ServerOptions options = kRoomy;
  options.max_waiting = 20000;
  options.parallel = 1;
  const Running server(options);
  Raw busy(server.port());
  busy.send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    const auto refused = server.post(R"({"text": "w1"})");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("Retry-After"), "1");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_THAT(server.get("/health"), HasSubstr("ok"));
  EXPECT_GT(server.metric("residual_lines_waiting"), 0);
}

// A request that waits for others is given up like one that is being translated.
TEST(Translations, GiveUpWhatStillWaits) {
  ServerOptions options = kRoomy;
  options.parallel = 1;
  const Running server(options);
  Raw busy(server.port()), next(server.port());
  busy.send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") == 20000; }));
  next.send(post_of(R"({"text": "w1\nw2"})"));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") == 20002; }));
  next.close();
  EXPECT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") == 20000; }));
}

// The table's row: few places, many slow clients, and one who wants a translation.
TEST(Translations, AreAnsweredPromptlyBesideSlowClients) {
  const Running server({.connections = 64});
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<Raw>(server.port()));
    slow.back()->send(i % 3 == 0   ? "POST /translate HTTP/1.1\r\nHost"
                      : i % 3 == 1 ? "POST /translate HTTP/1.1\r\nContent-Length: 900\r\n\r\n{\"te"
                                   : "");
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(server.post(R"({"text": "w1 w2"})").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST(Translations, RefuseNulCharacters) {
  const Running server;
  const auto got = server.post(R"({"text": "w1\u0000w2"})");
  EXPECT_EQ(got.status, 400);
  EXPECT_THAT(got.body, HasSubstr("U+0000"));
}

}  // namespace
}  // namespace residual::serve
