#include "serve/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "serve/running.h"
#include "support/temporary.h"

namespace residual::serve {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string header(const Answer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(Keys, AreFoundByTheirHash) {
  const NewKey alice = new_key("alice"), bob = new_key("bob");
  EXPECT_NE(alice.key, bob.key);
  EXPECT_EQ(alice.line.find(alice.key), std::string::npos);  // the file does not give it away
  const Keys keys("# comment\n\n" + alice.line + "\r\n  " + bob.line + " requests=3", "file");
  EXPECT_EQ(keys.find(alice.key), 0u);
  EXPECT_EQ(keys.find(bob.key), 1u);
  EXPECT_EQ(keys.find(alice.key + "x"), std::nullopt);
  EXPECT_EQ(keys.find(""), std::nullopt);
  // What `printf test | sha256sum` says.
  const Keys known("t sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                   "file");
  EXPECT_EQ(known.find("test"), 0u);
}

TEST(Keys, NameTheLineThatIsWrong) {
  const std::string good = new_key("a").line;
  const auto error = [](const std::string& text) { return [text] { Keys(text, "keys"); }; };
  EXPECT_THAT(error("\nalice secret"), ThrowsMessage<Error>(HasSubstr("keys:2: expected NAME")));
  EXPECT_THAT(error("alice"), ThrowsMessage<Error>(HasSubstr("keys:1: expected NAME")));
  EXPECT_THAT(error("a sha256:" + std::string(64, 'x')),
              ThrowsMessage<Error>(HasSubstr("hexadecimal")));
  EXPECT_THAT(error(good + " requests=0"), ThrowsMessage<Error>(HasSubstr("above 0")));
  EXPECT_THAT(error(good + " requests=5x"), ThrowsMessage<Error>(HasSubstr("requests: expected")));
  EXPECT_THAT(error(good + " speed=5"), ThrowsMessage<Error>(HasSubstr("got \"speed=5\"")));
  EXPECT_THAT(error(good + " requests=5 requests=5"),
              ThrowsMessage<Error>(HasSubstr("requests: given twice")));
  EXPECT_THAT(error(good + "\n" + good), ThrowsMessage<Error>(HasSubstr("keys:2: a has a key")));
  EXPECT_THAT(error("# none\n"), ThrowsMessage<Error>(HasSubstr("keys: has no key")));
  for (const std::string name : {"", "a b", "#a", "a\n"}) EXPECT_THROW(new_key(name), Error);
}

TEST(Keys, AllowAsMuchPerMinuteAsTheirLineSays) {
  Keys keys(new_key("a").line + " requests=2 characters=100\n" + new_key("b").line, "keys");
  const auto now = Keys::Clock::now();
  EXPECT_FALSE(keys.take(0, 50, now));
  EXPECT_FALSE(keys.take(0, 0, now));
  const auto refused = keys.take(0, 0, now);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(header(*refused, "Retry-After"), "30");
  EXPECT_TRUE(keys.take(0, 0, now + 29s));
  EXPECT_FALSE(keys.take(0, 0, now + 30s));
  const auto long_text = keys.take(0, 80, now + 61s);  // 50 were left, and 50 came back
  ASSERT_FALSE(long_text);
  const auto longer = keys.take(0, 50, now + 70s);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->status, 429);
  EXPECT_EQ(keys.take(0, 101, now + 999s)->status, 413);  // would never be allowed
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(keys.take(1, 1'000'000, now));
}

TEST(Keys, KeepWhatWasUsedWhenTheyAreReadAgain) {
  const std::string line = new_key("a").line;
  const auto now = Keys::Clock::now();
  Keys before(line + " requests=2", "keys");
  EXPECT_FALSE(before.take(0, 1, now));
  EXPECT_FALSE(before.take(0, 1, now));
  Keys after(new_key("b").line + "\n" + line + " requests=60", "keys");
  after.inherit(before);
  EXPECT_TRUE(after.take(1, 1, now));
  EXPECT_FALSE(after.take(1, 1, now + 1s));
}

// Over HTTP, from the header of a request or from LibreTranslate's body.
TEST(KeyRing, LetsOnlyKnownClientsTranslate) {
  const test::TemporaryDirectory directory;
  const NewKey alice = new_key("alice"), bob = new_key("bob");
  const auto write = [&](const std::string& text) { std::ofstream(directory / "keys") << text; };
  write(alice.line + " requests=3");
  Running server({.api_keys = directory / "keys"});
  const std::string body = R"({"text": "w1"})";
  const auto with = [&](const std::string& name, const std::string& value) {
    return server.post(body, "application/json", "/translate", {{name, value}});
  };
  const auto missing = server.post(body);
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(missing.header("WWW-Authenticate"), "Bearer");
  EXPECT_THAT(missing.body, HasSubstr("Authorization: Bearer KEY"));
  EXPECT_EQ(with("Authorization", "Bearer " + bob.key).status, 401);
  EXPECT_EQ(with("Authorization", "Bearer " + alice.key).status, 200);
  EXPECT_EQ(with("X-API-Key", alice.key).status, 200);
  EXPECT_EQ(server.post(R"({"q": "w1", "api_key": ")" + alice.key + "\"}").status, 200);
  const auto late = with("X-API-Key", alice.key);
  EXPECT_EQ(late.status, 429);
  EXPECT_EQ(late.header("Retry-After"), "20");
  EXPECT_EQ(server.request("GET", "/health").status, 200);  // needs none
  write("nonsense");
  server.reload();
  EXPECT_EQ(with("Authorization", "Bearer " + bob.key).status, 401);
  write(bob.line);
  server.reload();
  EXPECT_EQ(with("Authorization", "Bearer " + bob.key).status, 200);
  EXPECT_EQ(with("Authorization", "Bearer " + alice.key).status, 401);
}

}  // namespace
}  // namespace residual::serve
