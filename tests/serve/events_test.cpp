#include "serve/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const Headers kAccept = {{"Accept", kEvents}, {"Content-Type", "application/json"}};

std::vector<std::pair<std::string, json>> events_of(const std::string& text) {
  std::vector<std::pair<std::string, json>> events;
  std::istringstream lines(text);
  for (std::string name, data, empty; std::getline(lines, name);) {
    std::getline(lines, data);
    std::getline(lines, empty);
    EXPECT_EQ(empty, "");
    events.emplace_back(name.substr(7), json::parse(data.substr(6)));
  }
  return events;
}

TEST(Events, BringEveryLineInOrder) {
  Running server;
  std::vector<std::string> lines;
  std::string text;
  for (int i = 0; i < 60; ++i) {
    lines.push_back(test::words(i, 1 + (37 * i) % 23));
    text += lines.back() + "\n";
  }
  const auto wanted = server.translator().translate(lines);
  const auto got =
      server.request("POST", "/translate", json{{"text", {text, "w1"}}}.dump(), kAccept);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.header("Content-Type"), kEvents);
  const auto events = events_of(got.body);
  ASSERT_EQ(events.size(), 62u);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(events[i].first, "line");
    EXPECT_EQ(events[i].second,
              (json{{"text", 0}, {"line", i + 1}, {"translation", wanted[i].outputs[0].text}}));
  }
  EXPECT_EQ(events[60].second["text"], 1);
  EXPECT_EQ(events[61].first, "done");
  EXPECT_EQ(events[61].second, (json{{"lines", 61}}));
}

// A server whose lines have sentences that end with "!".
std::shared_ptr<decode::Translator> sentence_translator() {
  decode::TextTools tools = test::word_tools();
  tools.source_sentences = tools.target_sentences = std::make_shared<text::SentenceSplitter>("en");
  return std::make_shared<decode::Translator>(
      std::vector{test::random_model(test::small_config()).weights()}, tools,
      decode::TranslatorOptions{});
}

TEST(Events, BringTheSentencesOfALineBeforeIt) {
  Running server({}, sentence_translator());
  const std::vector<std::string> alone = {"w1 w2 w3!", "w9 w4!", "w7 w5 w6"};
  const auto wanted = server.translator().translate(alone);
  const std::string text = "w8 w3\n" + alone[0] + "  " + alone[1] + "\t" + alone[2];
  const auto got = server.request("POST", "/translate", json{{"text", text}}.dump(), kAccept);
  const auto events = events_of(got.body);
  ASSERT_EQ(events.size(), 6u) << got.body;
  EXPECT_EQ(events[0].first, "line");  // its only sentence
  std::string joined;
  for (size_t i = 0; i < alone.size(); ++i) {
    const auto& [name, data] = events[1 + i];
    EXPECT_EQ(name, "sentence");
    EXPECT_EQ(data["line"], 2);
    joined += data["added"];
    EXPECT_THAT(data["added"], testing::EndsWith(wanted[i].outputs[0].text));
  }
  EXPECT_EQ(events[4].first, "line");
  EXPECT_EQ(events[4].second["translation"], joined);
  EXPECT_EQ(server.answer({{"text", alone[0] + "  " + alone[1] + "\t" + alone[2]}})["text"],
            joined);
}

TEST(Events, BringTheFirstSentenceOfALongLineAtOnce) {
  const Running server(kRoomy, sentence_translator());
  std::string line;
  for (int i = 0; i < 20000; ++i) line += test::words(i, 40) + "! ";
  Raw client(server.port());
  client.send(request_of("POST", "/translate", json{{"text", line}}.dump(), kAccept));
  client.read_until("\r\n\r\n");
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("event: sentence"));
  EXPECT_EQ(server.metric("residual_lines_total"), 0);
}

TEST(Events, ComeBeforeTheAnswerIsComplete) {
  const Running server(kRoomy);
  Raw client(server.port());
  client.send(request_of("POST", "/translate", json{{"text", endless_text()}}.dump(), kAccept));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("\"line\":1,"));
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("\"line\":2,"));
  client.close();  // gives up the rest
  EXPECT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") == 0; }));
  EXPECT_LT(server.metric("residual_lines_total"), 20000);
}

TEST(Events, SayWhenTheAnswerIsNotComplete) {
  ServerOptions options = kRoomy;
  options.timeout_seconds = kSlowness;  // enough for the first line
  const Running server(options);
  const auto got =
      server.request("POST", "/translate", json{{"text", endless_text()}}.dump(), kAccept);
  EXPECT_EQ(got.status, 200);
  const auto events = events_of(got.body);
  ASSERT_GE(events.size(), 1u);
  EXPECT_EQ(events.back().first, "error");
  EXPECT_EQ(events.back().second["status"], 504);
}

TEST(Events, RefuseLikeAnyAnswer) {
  const Running server;
  EXPECT_EQ(server.request("POST", "/translate", R"({"beem": 1})", kAccept).status, 400);
}

TEST(Events, EndWithTheConnectionForAnOldClient) {
  const Running server;
  const std::string body = R"({"text": "w1", "details": true})";
  const std::string got = ask(server.port(),
                              "POST /translate HTTP/1.0\r\nAccept: text/event-stream\r\n"
                              "Content-Length: " +
                                  std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_THAT(got, StartsWith("HTTP/1.0 200"));
  const auto events = events_of(got.substr(got.find("\r\n\r\n") + 4));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].second["source_pieces"], json::array({"w1"}));
}

// The connection serves the next request after a stream.
TEST(Events, LeaveTheConnectionOpen) {
  const Running server;
  Raw client(server.port());
  client.send(request_of("POST", "/translate", R"({"text": "w1"})", kAccept));
  EXPECT_EQ(client.answer().status, 200);
  client.send(request_of("GET", "/health"));
  EXPECT_EQ(client.answer().status, 200);
}

}  // namespace
}  // namespace residual::serve
