#include "serve/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace residual::serve {
namespace {

namespace http = boost::beast::http;

using Field = std::pair<http::field, std::string>;

int status_of(http::verb method, const std::vector<Field>& headers, size_t target = 10) {
  http::request_header<> head;
  head.method(method);
  head.target("/" + std::string(target - 1, 'a'));
  for (const auto& [name, value] : headers) head.insert(name, value);
  const auto fault = fault_of_head(head, {.max_request = 1000, .max_target = 100});
  return fault ? fault->status : 200;
}

TEST(Head, MayHaveABodyOfOneKnownLength) {
  using enum http::field;
  using http::verb;
  EXPECT_EQ(status_of(verb::get, {}), 200);
  EXPECT_EQ(status_of(verb::post, {}), 411);
  EXPECT_EQ(status_of(verb::post, {{content_length, "1000"}}), 200);
  EXPECT_EQ(status_of(verb::post, {{content_length, "1001"}}), 413);
  EXPECT_EQ(status_of(verb::post, {{content_length, "-1"}}), 400);
  EXPECT_EQ(status_of(verb::post, {{content_length, "99999999999999999999"}}), 400);
  EXPECT_EQ(status_of(verb::post, {{content_length, "3"}, {content_length, "3"}}), 400);
  EXPECT_EQ(status_of(verb::post, {{content_length, "3"}, {transfer_encoding, "chunked"}}), 400);
  EXPECT_EQ(status_of(verb::post, {{transfer_encoding, "Chunked"}}), 200);
  EXPECT_EQ(status_of(verb::post, {{transfer_encoding, "gzip, chunked"}}), 501);
}

TEST(Head, MayAskForWhatTheServerHas) {
  using enum http::field;
  using http::verb;
  const Field length = {content_length, "3"};
  EXPECT_EQ(status_of(verb::post, {length, {content_encoding, "gzip"}}), 200);
  EXPECT_EQ(status_of(verb::post, {length, {content_encoding, "br"}}), 415);
  EXPECT_EQ(status_of(verb::post, {length, {expect, "100-Continue"}}), 200);
  EXPECT_EQ(status_of(verb::post, {length, {expect, "miracles"}}), 417);
  EXPECT_EQ(status_of(verb::get, {}, 100), 200);
  EXPECT_EQ(status_of(verb::get, {}, 101), 414);
}

TEST(BodyMemory, MayEndBeforeItsShares) {
  auto memory = std::make_unique<BodyMemory>(100);
  BodyMemory::Room room(*memory);
  EXPECT_TRUE(room.grow(BodyMemory::kFree + 60));
  memory.reset();
  EXPECT_FALSE(room.grow(BodyMemory::kFree + 200));
}

TEST(BodyMemory, IsSharedBeyondTheFirstBytesOfEach) {
  constexpr int64_t kFree = BodyMemory::kFree;
  BodyMemory memory(100);
  BodyMemory::Room small(memory);
  {
    BodyMemory::Room large(memory);
    EXPECT_TRUE(large.grow(kFree + 60));
    EXPECT_TRUE(large.grow(kFree + 100));
    EXPECT_FALSE(large.grow(kFree + 101));
    EXPECT_TRUE(small.grow(kFree));
    EXPECT_FALSE(small.grow(kFree + 1));
  }
  EXPECT_TRUE(small.grow(kFree + 100));
}

}  // namespace
}  // namespace residual::serve
