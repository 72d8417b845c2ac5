#include "serve/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/config.h"
#include "base/error.h"
#include "serve/describe.h"
#include "serve/encoding.h"
#include "serve/request.h"
#include "serve/running.h"
#include "support/paths.h"

namespace residual::serve {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::words;
using testing::HasSubstr;
using testing::StartsWith;

template <class Struct>
std::set<std::string> keys_of() {
  std::set<std::string> keys;
  std::istringstream lines(explain_config<Struct>());
  bool is_table = false;  // they come after the other keys
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (line.starts_with('[')) {
      is_table = true;
      const size_t name = line.find_first_not_of('[');
      keys.insert(line.substr(name, line.find(']') - name));
    } else if (!is_table && !line.starts_with('#') && equals != std::string::npos) {
      keys.insert(line.substr(0, equals));
    }
  }
  return keys;
}

TEST(Server, TranslatesAsTheTranslatorDoes) {
  Running server;
  const std::vector<std::string> lines = {words(1, 5), "", words(2, 9), words(3, 100)};
  const auto wanted = server.translator().translate(lines);
  std::string text, all;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(server.answer({{"text", lines[i]}})["text"], wanted[i].outputs[0].text);
    text += lines[i] + "\n";
    all += wanted[i].outputs[0].text + "\n";
  }
  EXPECT_EQ(server.post(text, "text/plain; charset=utf-8").body, all);
  const auto list = server.answer({{"text", lines}})["text"];
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(list[i], wanted[i].outputs[0].text);
}

TEST(Server, SearchesAsTheRequestWants) {
  Running server({}, {.search = {.beam = 4}});
  const decode::SearchOptions own = {.beam = 7, .n_best = 3, .length_penalty = 0.2};
  auto other = test::word_translator({.search = own});
  const std::vector<std::string> lines = {words(5, 6)};
  const auto wanted = other.translate(lines)[0];
  const auto got =
      server.answer({{"text", lines[0]}, {"beam", 7}, {"n_best", 3}, {"length_penalty", 0.2}});
  ASSERT_EQ(got["lines"][0]["translations"].size(), 3U);
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(got["lines"][0]["translations"][rank]["text"], wanted.outputs[rank].text);
    EXPECT_NEAR(got["lines"][0]["translations"][rank]["score"], wanted.outputs[rank].score, 1e-6);
  }
  const json terms = json::array({{{"source", "w1"}, {"target", "w7 w6"}}});
  EXPECT_THAT(server.answer({{"text", "w2 w1"}, {"terms", terms}})["text"].get<std::string>(),
              HasSubstr("w7 w6"));
  EXPECT_EQ(server.answer({{"text", "w2 w1"}, {"terms", json::array()}}),
            server.answer({{"text", "w2 w1"}}));
  EXPECT_THAT(server.answer({{"text", "w1"}, {"prefix", "w9 w8"}})["text"].get<std::string>(),
              StartsWith("w9 w8"));
  const auto plain = server.post("w1 w2 w3", "text/plain", "/translate?beam=1&max_length_offset=3");
  EXPECT_EQ(plain.status, 200) << plain.body;
}

TEST(Server, AnswersManyClientsAtOnceWithTheSameBytes) {
  Running server({.parallel = 8});
  std::vector<std::string> lines, wanted;
  for (int i = 0; i < 40; ++i) lines.push_back(words(i, 1 + i % 11));
  for (const auto& t : server.translator().translate(lines)) wanted.push_back(t.outputs[0].text);
  std::vector<std::thread> clients;
  for (int c = 0; c < 16; ++c) {
    clients.emplace_back([&, c] {
      for (size_t i = 0; i < lines.size(); ++i) {
        const size_t at = (i * 7 + c) % lines.size();
        const json request = {{"text", lines[at]}, {"details", c % 2 == 0}};
        EXPECT_EQ(server.answer(request)["text"], wanted[at]);
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(server.metric("residual_lines_total"), 16 * 40);
  EXPECT_EQ(server.metric("residual_lines_waiting"), 0);
}

TEST(Server, SaysWhatIsWrongWithARequest) {
  const Running server({.max_request = 10000, .max_waiting = 20});
  const auto expect = [&](const Received& got, int status, const std::string& message) {
    EXPECT_EQ(got.status, status) << got.body;
    EXPECT_THAT(got.header("Content-Type"), "application/json");
    EXPECT_THAT(json::parse(got.body)["error"].get<std::string>(), HasSubstr(message));
  };
  expect(server.post("{"), 400, "not valid JSON");
  expect(server.post(R"({"text": "a", "beem": 1})"), 400, "did you mean \"beam\"?");
  expect(server.post("\xff", "text/plain"), 400, "not valid UTF-8");
  expect(server.post("a", "image/png"), 415, "expected application/json");
  expect(server.post("a", "multipart/form-data; boundary=x"), 415, "expected application/json");
  expect(server.post(std::string(10001, ' ')), 413, "10000 bytes");
  expect(server.post(std::string(21, '\n'), "text/plain"), 413, "20 lines");
  expect(server.post("{}", "application/json", "/nothing"), 404, "unknown path /nothing");
  expect(server.post(R"({"text": "w1"})", "application/json", "/translate?beam=2"), 400, "query");
  expect(server.request("GET", "/translate"), 405, "only accepts POST");
  expect(server.request("PUT", "/translate", "{}"), 405, "only accepts POST");
  // What curl -d sends.
  EXPECT_EQ(server.post(R"({"text": "w1"})", "application/x-www-form-urlencoded").status, 200);
  expect(server.post("text=w1", "application/x-www-form-urlencoded"), 415, "{\"text\": \"...\"}");
}

TEST(Server, BoundsWhatARequestMayTake) {
  const Running server({.max_request = 10000});
  // Without a length beforehand.
  Raw endless(server.port());
  endless.send("POST /translate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) endless.send("1388\r\n" + std::string(5000, ' ') + "\r\n");
  EXPECT_EQ(endless.answer().status, 413);
  // Small as it comes, large as it is.
  const Headers packed = {{"Content-Encoding", "gzip"}};
  EXPECT_EQ(server.request("POST", "/translate", gzip(std::string(5 << 20, ' ')), packed).status,
            413);
  // As many times as it is wanted.
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  const std::string body = R"({"text": "w1 w2"})";
  const std::string whole = ask(server.port(), post_of(body, "Connection: close\r\n"));
  EXPECT_THAT(whole, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(ask(server.port(), post_of(body, "Connection: close\r\n" + ranges + "\r\n")), whole);
  // A number for each pair of pieces.
  const json wide = {{"text", words(1, 2000)}, {"with_attention", true}};
  EXPECT_EQ(server.post(wide.dump()).status, 413);
  std::string headers = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 10000; ++i) headers += "X-" + std::to_string(i) + ": x\r\n";
  EXPECT_THAT(ask(server.port(), headers + "\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(server.post(R"({"text": "w1"})").status, 200);
}

TEST(Server, AnswersWhatIsHardlyHttp) {
  const Running server;
  const int port = server.port();
  const std::string body = R"({"text": "w1"})";
  EXPECT_THAT(ask(port, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(port, "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 414"));
  EXPECT_THAT(ask(port, "POST /translate HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(ask(port, post_of(body, "Transfer-Encoding: chunked\r\n")),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(port, post_of(body, "Content-Length: 3\r\n")), StartsWith("HTTP/1.1 400"));
  for (const std::string second : {"gzip", "chunked"}) {
    EXPECT_THAT(ask(port,
                    "POST /translate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
                    "Transfer-Encoding: " +
                        second + "\r\n\r\ne\r\n" + body + "\r\n0\r\n\r\n"),
                StartsWith("HTTP/1.1 400"))
        << second;
  }
  for (const std::string length : {"-1", "1x", "99999999999999999999"}) {
    EXPECT_THAT(
        ask(port, "POST /translate HTTP/1.1\r\nContent-Length: " + length + "\r\n\r\n" + body),
        StartsWith("HTTP/1.1 400"))
        << length;
  }
  EXPECT_THAT(ask(port, "BREW / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(ask(port, "GET /health HTTP/1.0\r\n\r\n"), HasSubstr("\"ok\""));
  EXPECT_THAT(ask(port, "GET http://me:1/health HTTP/1.0\r\n\r\n"), HasSubstr("\"ok\""));
  const std::string page = "GET / HTTP/1.0\r\nAccept-Encoding: ";
  EXPECT_THAT(ask(port, page + "gzip\r\n\r\n"), HasSubstr("Content-Encoding: gzip"));
  for (const std::string refused : {"gzip;q=0", "br, gzip; q=0.0, *;q=0.5"}) {
    EXPECT_THAT(ask(port, page + refused + "\r\n\r\n"), HasSubstr("<html"));
  }
  EXPECT_EQ(server.post(" \n" + body, "").status, 200);
  EXPECT_EQ(server.post(body, "application/vnd.api+json").status, 200);
  // Two requests at once, and one byte by byte.
  const std::string two = ask(port, post_of(body) + post_of(body, "Connection: close\r\n"));
  EXPECT_NE(two.find("HTTP/1.1 200"), two.rfind("HTTP/1.1 200"));
  Raw slow(port);
  for (const char c : post_of(body, "Connection: close\r\n")) slow.send({&c, 1});
  EXPECT_THAT(slow.read(), StartsWith("HTTP/1.1 200"));
}

// What follows a body that nobody read is no request.
TEST(Server, TakesNoBodyForARequest) {
  const Running server({.allow_origin = "*"});
  const std::string hidden = "GET /model HTTP/1.1\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n\r\n";
  const std::string chunk = "{\"text\": \"w1\"}";
  for (const std::string& request :
       {"GET /health HTTP/1.1\r\n" + length + hidden,
        "OPTIONS /translate HTTP/1.1\r\n" + length + hidden,
        "GET /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden,
        "POST /translate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + chunk + "XX\r\n" +
            hidden}) {
    const std::string answer = ask(server.port(), request);
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
    EXPECT_THAT(answer, testing::Not(HasSubstr("scheme")));
  }
}

TEST(Server, AnswersAClientThatWillNotSendMore) {
  const Running server;
  Raw client(server.port());
  client.send(post_of(R"({"text": "w1 w2 w3"})"));
  client.end();
  EXPECT_EQ(client.answer().status, 200);
}

// One client's long text does not keep another's line waiting.
TEST(Server, ServesClientsInTurn) {
  const Running server(kRoomy);
  Raw greedy(server.port());
  greedy.send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  EXPECT_EQ(server.post(R"({"text": "w1 w2 w3"})").status, 200);
  EXPECT_EQ(server.metric("residual_lines_total"), 1);  // the long one's are not done
}

// Others wait for a place, but a busy server is not a dead one.
TEST(Server, SaysHowItIsWhenAllPlacesAreTaken) {
  ServerOptions options = kRoomy;
  options.parallel = 1;
  const Running server(options);
  auto greedy = std::make_unique<Raw>(server.port());
  greedy->send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  Raw next(server.port());
  next.send(post_of(R"({"text": "w1"})", "Connection: close\r\n"));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(server.get("/health"), HasSubstr("\"ok\""));
  greedy.reset();
  EXPECT_THAT(next.read(), StartsWith("HTTP/1.1 200"));
}

TEST(Server, SaysHowItIsWhileOthersAskSlowly) {
  ServerOptions options = kRoomy;
  options.parallel = 1;
  const Running server(options);
  Raw greedy(server.port());
  greedy.send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(std::make_unique<Raw>(server.port()));
    slow.back()->send("GET /health HTTP/1.1\r\nHost");
  }
  EXPECT_THAT(server.get("/health"), HasSubstr("\"ok\""));
  slow[0]->send(": x\r\n\r\n");
  EXPECT_THAT(slow[0]->answer().body, HasSubstr("\"ok\""));
}

TEST(Server, SendsAwayWhoComesWhenItIsFull) {
  ServerOptions options = kRoomy;
  options.max_waiting = 20000;
  const Running server(options);
  Raw busy(server.port());
  busy.send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  const auto answer = server.post(R"({"text": "w1"})");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(answer.header("Retry-After"), "1");
}

TEST(Server, GivesUpWhatTakesTooLong) {
  ServerOptions options = kRoomy;
  options.timeout_seconds = 0.2;
  const Running server(options);
  const auto answer = server.post(json{{"text", endless_text()}}.dump());
  EXPECT_EQ(answer.status, 504) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("0.2 seconds"));
  EXPECT_EQ(server.post(R"({"text": "w1"})").status, 200);
}

TEST(Server, GivesUpWhatNobodyWaitsFor) {
  const Running server(kRoomy);
  Raw client(server.port());
  client.send(post_of(json{{"text", endless_text()}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  client.send("\r\n");  // unread
  client.close();
  EXPECT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") == 0; }));
  EXPECT_EQ(server.metric("residual_lines_total"), 0);
}

TEST(Server, StopsWhenThoseWhoWaitHaveTheirAnswers) {
  Running server;
  std::string text;
  for (int i = 0; i < 300; ++i) text += words(i, 10) + "\n";
  Raw client(server.port());
  client.send(post_of(json{{"text", text}}.dump()));
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_lines_waiting") > 0; }));
  const int port = server.port();
  server.stop();
  EXPECT_THAT(client.read(), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(Raw(port).is_connected());
}

TEST(Server, DoesNotWaitForTheRestOfARequestWhenStopped) {
  Running server;
  Raw client(server.port());
  client.send("POST /translate HTTP/1.1\r\nContent-Length: 16\r\n\r\n{\"te");
  ASSERT_TRUE(comes_true([&] { return server.metric("residual_connections") > 1; }));
  const auto begin = std::chrono::steady_clock::now();
  server.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(Server, MayBeStoppedBeforeItRuns) {
  Server server({.port = 0});
  server.stop();
  server.run(std::make_shared<decode::Translator>(
      std::vector{test::random_model(test::small_config()).weights()}, test::word_tools(),
      decode::TranslatorOptions{}));
}

TEST(Server, ServesAsManyClientsInTurnAsThereAre) {
  const Running server({.connections = 1});
  for (int i = 0; i < 3; ++i) {
    Raw keeping(server.port());
    keeping.send(request_of("GET", "/health"));
    EXPECT_EQ(keeping.answer().status, 200);
    EXPECT_EQ(server.request("GET", "/health").status, 200);
  }
}

TEST(Server, DoesNotShareItsPort) {
  const Server first({.port = 0});
  const std::string address = first.address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  EXPECT_THAT([&] { Server({.port = port}); },
              testing::ThrowsMessage<Error>(HasSubstr("cannot listen")));
  EXPECT_THROW(Server({.host = "no.such.host.invalid"}), Error);
}

TEST(Server, LetsOtherSitesAskIfToldSo) {
  const Running closed, open({.allow_origin = "https://example.org"});
  EXPECT_EQ(closed.post(R"({"text": "w1"})").header("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(open.post(R"({"text": "w1"})").header("Access-Control-Allow-Origin"),
            "https://example.org");
  const auto asked = open.request("OPTIONS", "/translate");
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(asked.header("Access-Control-Allow-Headers"), "Content-Type, Authorization");
}

TEST(Server, DescribesTheModelItselfAndItsWork) {
  Running server;
  const auto model = json::parse(server.get("/model"));
  EXPECT_EQ(model["scheme"], "resi-dual");
  EXPECT_EQ(model["search"]["beam"], 5);
  std::set<std::string> keys;
  for (const auto& [key, value] : model["search"].items()) keys.insert(key);
  EXPECT_EQ(keys, keys_of<decode::SearchOptions>());
  EXPECT_EQ(json::parse(server.get("/health"))["status"], "ok");
  EXPECT_THAT(server.get("/"), HasSubstr("<title>ResiDual</title>"));
  server.post(R"({"text": "w1 w2\nw3"})");
  EXPECT_EQ(server.metric("residual_lines_total"), 2);
  EXPECT_EQ(server.metric("residual_source_pieces_total"), 3);
  EXPECT_EQ(server.metric("residual_http_answers_total{path=\"/translate\",status=\"200\"}"), 1);
}

TEST(OpenApi, KnowsEveryKeyOfARequest) {
  const Running server;
  const auto api = json::parse(server.get("/openapi.json"));
  std::set<std::string> described;
  for (const auto& [key, value] : api["components"]["schemas"]["Request"]["properties"].items()) {
    described.insert(key);
  }
  EXPECT_EQ(described, keys_of<TranslationRequest>());
}

// `residual serve --openapi > web/serve/openapi.json` makes it so.
TEST(OpenApi, TheFileOfTheRepositoryIsTheDocument) {
  const std::string file = read_file(fs::path(test::source_tree()) / "web/serve/openapi.json");
  EXPECT_EQ(file, openapi()) << "run: residual serve --openapi > web/serve/openapi.json";
}

}  // namespace
}  // namespace residual::serve
