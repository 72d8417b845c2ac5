#include "serve/compat/completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "serve/running.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::shared_ptr<decode::Generator> word_generator() {
  model::Config config = test::small_config();
  config.kind = model::Kind::language;
  return std::make_shared<decode::Generator>(
      std::vector{test::random_model(config).weights()},
      decode::TextSide{.vocabulary = test::word_tools().target_vocabulary},
      decode::GeneratorOptions{});
}

// A server of a language model in this process.
class Writing {
 public:
  explicit Writing(ServerOptions options = {})
      : generator_(word_generator()),
        server_([&] {
          options.port = 0;
          return options;
        }()),
        thread_([this] { server_.run(generator_); }) {}
  ~Writing() {
    server_.stop();
    thread_.join();
  }

  int port() const { return port_of(server_.address()); }
  Received post(const json& wanted, const Headers& headers = {}) const {
    Raw raw(port());
    raw.send(request_of("POST", "/v1/completions", wanted.dump(), headers));
    return raw.answer();
  }
  json answer(const json& wanted) const {
    const auto received = post(wanted);
    EXPECT_EQ(received.status, 200) << received.body;
    return json::parse(received.body);
  }
  json get(const std::string& path) const {
    Raw raw(port());
    raw.send(request_of("GET", path));
    return json::parse(raw.answer().body);
  }
  decode::Generator& generator() { return *generator_; }

 private:
  std::shared_ptr<decode::Generator> generator_;
  Server server_;
  std::thread thread_;
};

// The data of every event.
std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("data: ")) events.push_back(line.substr(6));
  }
  return events;
}

TEST(Completions, ContinueAPromptAsTheGeneratorDoes) {
  Writing server;
  const json made =
      server.answer({{"prompt", "w1 w2"}, {"max_tokens", 7}, {"temperature", 0}, {"model", "any"}});
  decode::SearchOptions search = decode::GeneratorOptions::text_search();
  decode::limit_length(search, 7);
  const auto want = server.generator()
                        .submit({.text = "w1 w2",
                                 .search = std::make_shared<const decode::SearchOptions>(search)})
                        .get();
  EXPECT_EQ(made["object"], "text_completion");
  ASSERT_THAT(made["choices"], SizeIs(1));
  EXPECT_EQ(made["choices"][0]["text"], want.continuations[0].text);
  EXPECT_EQ(made["choices"][0]["finish_reason"], want.continuations[0].is_cut ? "length" : "stop");
  EXPECT_EQ(made["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(made["usage"]["completion_tokens"], want.continuations[0].tokens.size());
  EXPECT_EQ(made["usage"]["total_tokens"], 2 + want.continuations[0].tokens.size());
}

TEST(Completions, AreTheSameWithTheSameSeed) {
  Writing server;
  const json wanted = {{"prompt", {"w1", "w2 w3"}}, {"n", 3}, {"seed", 5}, {"max_tokens", 9}};
  const json first = server.answer(wanted)["choices"];
  ASSERT_THAT(first, SizeIs(6));
  EXPECT_EQ(server.answer(wanted)["choices"], first);
  EXPECT_NE(first[0]["text"], first[1]["text"]);
  json other = wanted;
  other["seed"] = 500;
  EXPECT_NE(server.answer(other)["choices"], first);
  json unseeded = wanted;
  unseeded.erase("seed");
  EXPECT_NE(server.answer(unseeded)["choices"], server.answer(unseeded)["choices"]);
}

TEST(Completions, StreamThePartsOfTheSameText) {
  Writing server;
  json wanted = {
      {"prompt", {"w1", "w2 w3"}}, {"n", 2}, {"seed", 5}, {"max_tokens", 20}, {"echo", true}};
  const json whole = server.answer(wanted)["choices"];
  wanted["stream"] = true;
  const auto received = server.post(wanted);
  EXPECT_EQ(received.header("Content-Type"), "text/event-stream");
  auto events = events_of(received.body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  EXPECT_GT(events.size(), 8u);
  std::vector<std::string> texts(4);
  std::vector<json> reasons(4);
  for (const auto& event : events) {
    const json choice = json::parse(event)["choices"][0];
    const size_t index = choice["index"];
    EXPECT_TRUE(reasons[index].is_null());  // nothing follows the end
    texts[index] += choice["text"].get<std::string>();
    reasons[index] = choice["finish_reason"];
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(texts[i], whole[i]["text"]);
    EXPECT_EQ(reasons[i], whole[i]["finish_reason"]);
  }
}

TEST(Completions, EndBeforeAStopText) {
  Writing server;
  const json wanted = {{"prompt", "w1"}, {"temperature", 0}, {"max_tokens", 40}};
  const std::string text = server.answer(wanted)["choices"][0]["text"];
  ASSERT_GT(text.size(), 12u);
  for (const bool is_streamed : {false, true}) {
    json stopped = wanted;
    stopped["stop"] = {text.substr(5, 4), "never"};
    stopped["stream"] = is_streamed;
    const auto received = server.post(stopped);
    std::string got;
    json reason;
    if (is_streamed) {
      for (const auto& event : events_of(received.body)) {
        if (event == "[DONE]") break;
        const json choice = json::parse(event)["choices"][0];
        got += choice["text"].get<std::string>();
        reason = choice["finish_reason"];
      }
    } else {
      const json choice = json::parse(received.body)["choices"][0];
      got = choice["text"];
      reason = choice["finish_reason"];
    }
    EXPECT_EQ(got, text.substr(0, text.find(text.substr(5, 4))));
    EXPECT_EQ(reason, "stop");
  }
}

TEST(Completions, GiveThePiecesWithTheirLogProbabilities) {
  Writing server;
  const json made = server.answer({{"prompt", "w1"}, {"temperature", 0}, {"logprobs", 1}});
  const json logprobs = made["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), made["usage"]["completion_tokens"]);
  EXPECT_EQ(logprobs["token_logprobs"].size(), logprobs["tokens"].size());
}

TEST(Completions, RefuseInOpenAisForm) {
  Writing server({.max_waiting = 8});
  const auto refused = [&](const json& wanted, int status) {
    const auto received = server.post(wanted);
    EXPECT_EQ(received.status, status) << wanted;
    return json::parse(received.body)["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refused({{"promt", "a"}}, 400), HasSubstr("unknown key \"promt\""));
  EXPECT_THAT(refused({{"prompt", 3}}, 400), HasSubstr("prompt: expected a string"));
  EXPECT_THAT(refused({{"temperature", -1}}, 400), HasSubstr("temperature"));
  EXPECT_THAT(refused({{"frequency_penalty", 0.5}}, 400), HasSubstr("only 0 is possible"));
  EXPECT_THAT(refused({{"stop", ""}}, 400), HasSubstr("stop"));
  EXPECT_THAT(refused({{"n", 9}}, 413), HasSubstr("at most 8 choices"));
  std::string longest;
  for (int i = 0; i < 64; ++i) longest += "w1 ";
  EXPECT_THAT(refused({{"prompt", {"w1", longest}}}, 400), HasSubstr("prompt 2: has 64 tokens"));
  EXPECT_EQ(
      server.post({{"prompt", "w1"}, {"frequency_penalty", 0}, {"logit_bias", nullptr}}).status,
      200);
}

TEST(Completions, AreGivenUpWhenTheClientHasGone) {
  Writing server;
  for (int i = 0; i < 20; ++i) {
    Raw raw(server.port());
    raw.send(request_of("POST", "/v1/completions",
                        json{{"prompt", "w1"}, {"n", 50}, {"max_tokens", 60}}.dump()));
    raw.close();
  }
  EXPECT_EQ(server.answer({{"prompt", "w1"}, {"temperature", 0}})["choices"].size(), 1u);
}

TEST(Completions, HaveAModelAndNoTranslations) {
  Writing server;
  EXPECT_EQ(server.get("/v1/models")["data"][0]["id"], "model");
  EXPECT_EQ(server.get("/model")["kind"], "language");
  Raw raw(server.port());
  raw.send(post_of(R"({"text": "w1"})"));
  EXPECT_EQ(raw.answer().status, 404);
}

TEST(StopFilter, HoldsBackWhatMayBeAStopText) {
  StopFilter filter({"END", "\n"});
  EXPECT_EQ(filter.add("some E"), "some ");
  EXPECT_EQ(filter.add("Nough"), "ENough");
  EXPECT_EQ(filter.add(" EN"), " ");
  EXPECT_FALSE(filter.is_stopped());
  EXPECT_EQ(filter.add("D more"), "");
  EXPECT_TRUE(filter.is_stopped());
  EXPECT_EQ(filter.finish(), "");
  StopFilter open({"END"});
  EXPECT_EQ(open.add("an E"), "an ");
  EXPECT_EQ(open.finish(), "E");
}

}  // namespace
}  // namespace residual::serve
