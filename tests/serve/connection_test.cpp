#include "serve/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "serve/listener.h"
#include "serve/running.h"

namespace residual::serve {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Answers with the body of the request, or keeps the exchange of POST /later for the test.
struct Echo : Handler {
  std::optional<Answer> refuse(const Request& head) override {
    if (head.path == "/refused") return error_answer(403, "no");
    return std::nullopt;
  }
  void handle(std::shared_ptr<Exchange> exchange) override {
    if (exchange->request.path == "/later") return later.set_value(std::move(exchange));
    exchange->answer({.type = "text/plain", .body = exchange->request.body + "!"});
  }
  void finish(const Request&, Answer& answer) override {
    answer.headers.emplace_back("X-Finished", "yes");
  }
  std::promise<std::shared_ptr<Exchange>> later;
};

// Connections with limits of the test's choice.
class Hosted {
 public:
  explicit Hosted(const Limits& limits = {}, int64_t connections = 1000, double timeout = 60)
      : connections_(connections, gauge_),
        host_{.limits = limits,
              .timeout = std::chrono::duration<double>(timeout),
              .connections = connections_,
              .bodies = bodies_,
              .handler = echo} {
    listener_.start(host_, [] { return nullptr; });
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Hosted() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    listener_.stop();
    host_.is_stopped = true;
    connections_.stop_all();
    thread_.join();
  }
  int port() const { return listener_.port(); }
  int64_t open() const { return static_cast<int64_t>(gauge_.Value()); }
  Received post(const std::string& body) const {
    Raw raw(port());
    raw.send(request_of("POST", "/", body));
    return raw.answer();
  }

  Echo echo;

 private:
  prometheus::Gauge gauge_;
  Connections connections_;
  BodyMemory bodies_{1 << 20};
  Host host_;
  boost::asio::io_context io_;  // handlers that it has left refer to the host
  Listener listener_{io_, "127.0.0.1", 0};
  std::thread thread_;
};

TEST(Connection, AnswersRequestsOneAfterAnother) {
  const Hosted host;
  Raw client(host.port());
  for (const std::string body : {"a", "", "bcd"}) {
    client.send(request_of("POST", "/", body));
    const auto got = client.answer();
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, body + "!");
    EXPECT_EQ(got.header("X-Finished"), "yes");
  }
}

TEST(Connection, AnswersWhatComesAtOnceInOrder) {
  const Hosted host;
  Raw client(host.port());
  std::string all;
  for (int i = 0; i < 200; ++i) all += request_of("POST", "/", std::to_string(i));
  std::thread sender([&] { client.send(all); });
  for (int i = 0; i < 200; ++i) EXPECT_EQ(client.answer().body, std::to_string(i) + "!");
  sender.join();
}

TEST(Connection, TakesARequestByteByByte) {
  const Hosted host;
  Raw client(host.port());
  for (const char c : request_of("POST", "/", "slow")) client.send({&c, 1});
  EXPECT_EQ(client.answer().body, "slow!");
}

TEST(Connection, TakesChunksAndIgnoresTheirTrailers) {
  const Hosted host;
  Raw client(host.port());
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  client.send(head + "3;name=value\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: x\r\n\r\n" +
              request_of("POST", "/", "next"));
  EXPECT_EQ(client.answer().body, "abcde!");
  EXPECT_EQ(client.answer().body, "next!");
  EXPECT_THAT(ask(host.port(), head + "x\r\nabc\r\n0\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(host.port(), head + "3\r\nabcd\r\n0\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  const std::string flood = head + "0\r\nX: " + std::string(1 << 20, 'x') + "\r\n\r\n";
  EXPECT_THAT(ask(host.port(), flood), StartsWith("HTTP/1.1 4"));
}

TEST(Connection, TellsAClientToContinue) {
  const Hosted host;
  Raw client(host.port());
  client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.answer().body, "abc!");
  Raw refused(host.port());
  refused.send("POST /refused HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(refused.answer().status, 403);  // without its body
  EXPECT_EQ(refused.read(), "");            // and closed
}

// What follows a body that was not read is no request.
TEST(Connection, ClosesAfterARequestThatItDoesNotRead) {
  const Hosted host;
  const std::string hidden = request_of("POST", "/", "hidden");
  const std::string got =
      ask(host.port(), request_of("POST", "/refused", hidden) + request_of("POST", "/", "next"));
  EXPECT_THAT(got, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(got, HasSubstr("Connection: close"));
  EXPECT_THAT(got, Not(HasSubstr("!")));
}

// A client that sends much more than is read still gets its answer.
TEST(Connection, LetsAClientReadItsAnswerBeforeItCloses) {
  const Hosted host({.max_request = 1000});
  const std::string got = ask(host.port(), request_of("POST", "/", std::string(300'000, 'x')));
  EXPECT_THAT(got, StartsWith("HTTP/1.1 413"));
}

TEST(Connection, BoundsTheHeaders) {
  const Hosted host({.max_headers = 4000});
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 1000; ++i) many += "X-" + std::to_string(i) + ": x\r\n";
  EXPECT_THAT(ask(host.port(), many + "\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(ask(host.port(), "GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'x')),
              StartsWith("HTTP/1.1 431"));
}

TEST(Connection, WaitsOnlySoLongForARequest) {
  const Hosted host({.idle = 200ms, .read = 500ms});
  Raw idle(host.port()), slow(host.port()), body(host.port());
  slow.send("GET / HT");
  body.send("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc");
  const auto begin = std::chrono::steady_clock::now();
  // A byte now and then does not extend the time.
  std::thread drip([&] {
    for (int i = 0; i < 20 && body.send("x"); ++i) std::this_thread::sleep_for(100ms);
  });
  EXPECT_EQ(idle.read(), "");
  EXPECT_EQ(slow.read(), "");
  body.read();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1900ms);
  drip.join();
  EXPECT_TRUE(comes_true([&] { return host.open() == 0; }));
}

TEST(Connection, WaitsOnlySoLongForAnAnswerToBeRead) {
  Hosted host({.max_request = 64 << 20, .write = 300ms});
  Raw client(host.port());
  client.send(request_of("POST", "/later"));
  host.echo.later.get_future().get()->answer({.body = std::string(64 << 20, 'x')});
  EXPECT_TRUE(comes_true([&] { return host.open() == 0; }));
}

TEST(Connection, AnswersAClientThatWillNotSendMore) {
  const Hosted host;
  Raw client(host.port());
  client.send(request_of("POST", "/", "last"));
  client.end();
  EXPECT_EQ(client.answer().body, "last!");
  EXPECT_EQ(client.read(), "");
}

TEST(Connection, CancelsWhatItsClientDoesNotWaitFor) {
  Hosted host;
  Raw client(host.port());
  client.send(request_of("POST", "/later") + "more");  // which is not read meanwhile
  auto exchange = host.echo.later.get_future().get();
  EXPECT_FALSE(*exchange->unwanted());
  client.close();
  EXPECT_TRUE(comes_true([&] { return exchange->unwanted()->load(); }));
  EXPECT_EQ(exchange->reason(), Exchange::Reason::gone);
  exchange->answer(error_answer(499, "gone"));
  exchange.reset();  // it keeps the connection
  EXPECT_TRUE(comes_true([&] { return host.open() == 0; }));
}

TEST(Connection, CancelsWhatIsLate) {
  Hosted host({}, 10, 0.2);
  Raw client(host.port());
  client.send(request_of("POST", "/later"));
  const auto exchange = host.echo.later.get_future().get();
  EXPECT_TRUE(comes_true([&] { return exchange->unwanted()->load(); }));
  EXPECT_EQ(exchange->reason(), Exchange::Reason::late);
  exchange->answer(error_answer(504, "late"));
  EXPECT_EQ(client.answer().status, 504);
}

TEST(Connection, LeavesItsPlaceToTheNextClient) {
  const Hosted host({}, 4);
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<Raw>(host.port()));
    slow.back()->send("POST / HTTP/1.1\r\nContent-Le");
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(host.post("now").body, "now!");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  EXPECT_LE(host.open(), 8);
}

TEST(Connection, AnswersHeadWithoutABody) {
  const Hosted host;
  Raw client(host.port());
  client.send("HEAD / HTTP/1.1\r\n\r\n");
  const auto got = client.answer(true);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.header("Content-Length"), "1");
  client.send(request_of("POST", "/", "next"));
  EXPECT_EQ(client.answer().body, "next!");
}

TEST(Connection, StopsAfterTheRequestsThatItHas) {
  Hosted host;
  Raw idle(host.port()), half(host.port()), busy(host.port());
  half.send("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na");
  busy.send(request_of("POST", "/later"));
  auto exchange = host.echo.later.get_future().get();
  std::thread stopping([&] { host.stop(); });
  EXPECT_EQ(idle.read(), "");
  EXPECT_EQ(half.read(), "");
  exchange->answer({.body = "done"});
  exchange.reset();
  const auto got = busy.answer();
  EXPECT_EQ(got.body, "done");
  EXPECT_EQ(got.header("Connection"), "close");
  stopping.join();
}

}  // namespace
}  // namespace residual::serve
