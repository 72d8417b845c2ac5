// Measures `residual serve` on this machine, bounded and over the loopback: the latency of
// translations beside slow clients, the answers of an overloaded server, and its memory before and
// after. The rounds with and without slow clients alternate.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace residual {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, text = "a b c d e";
  int slow = 2000, requests = 2000, clients = 4, rounds = 3, flood = 400;
};

struct Answer {
  int status = 0;
  double milliseconds = 0;
};

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A connection to the server.
class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(socket_, any, sizeof(address)) != 0) fail_errno("127.0.0.1", "cannot connect");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool send(const std::string& bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Sends a request and reads the status of its answer, which must have a length.
  Answer ask(const std::string& request) const {
    const auto begin = Clock::now();
    std::string got;
    char bytes[4096];
    size_t end = std::string::npos, size = 0;
    if (!send(request)) return {};
    while (end == std::string::npos || got.size() < end + 4 + size) {
      const ssize_t read = ::recv(socket_, bytes, sizeof(bytes), 0);
      if (read <= 0) return {};
      got.append(bytes, static_cast<size_t>(read));
      end = got.find("\r\n\r\n");
      const size_t length = got.find("Content-Length: ");
      if (end != std::string::npos) size = std::stoul(got.substr(length + 16));
    }
    return {std::stoi(got.substr(9, 3)), since(begin)};
  }

 private:
  int socket_;
};

std::string post(const std::string& text) {
  const std::string body = "{\"text\": \"" + text + "\"}";
  return fmt::format("POST /translate HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

// The server in a process of its own.
class Server {
 public:
  explicit Server(const Options& options) {
    int out[2];
    require(::pipe(out) == 0, "cannot make a pipe");
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(out[1], 1);
      const fs::path self = fs::read_symlink("/proc/self/exe");
      const std::string program = self.parent_path() / "residual-serve";
      ::execl(program.c_str(), program.c_str(), "serve", "--model", options.model.c_str(), "--port",
              "0", "--max-waiting", "1024", nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    char address[256] = "";
    require(::read(out[0], address, sizeof(address) - 1) > 0, "the server did not start");
    const std::string text = address;
    port_ = std::stoi(text.substr(text.rfind(':') + 1));
  }
  ~Server() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  double megabytes() const {
    std::ifstream status("/proc/" + std::to_string(process_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    }
    return 0;
  }

 private:
  pid_t process_;
  int port_ = 0;
};

// Clients that send a byte a second: a third of them headers, a third bodies, the others nothing.
class SlowClients {
 public:
  SlowClients(int port, int count) {
    for (int i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<Client>(port));
      if (i % 3 == 0) clients_.back()->send("POST /translate HTTP/1.1\r\nX: ");
      if (i % 3 == 1) {
        clients_.back()->send("POST /translate HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{");
      }
    }
    thread_ = std::thread([this] {
      while (!is_stopped_) {
        for (size_t i = 0; i < clients_.size() && !is_stopped_; ++i) {
          if (i % 3 != 2) clients_[i]->send("x");
          if (i % 20 == 0) std::this_thread::sleep_for(20000ms / clients_.size());
        }
      }
    });
  }
  ~SlowClients() {
    is_stopped_ = true;
    thread_.join();
  }
  SlowClients(const SlowClients&) = delete;
  SlowClients& operator=(const SlowClients&) = delete;

 private:
  std::vector<std::unique_ptr<Client>> clients_;
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

double quantile(std::vector<double>& times, double q) {
  if (times.empty()) return 0;
  std::ranges::sort(times);
  return times[std::min(times.size() - 1, static_cast<size_t>(q * double(times.size())))];
}

// The latencies of translations from clients that ask one after another.
std::vector<double> latencies(const Server& server, const Options& options) {
  std::vector<double> times;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int c = 0; c < options.clients; ++c) {
    threads.emplace_back([&] {
      std::vector<double> mine;
      auto client = std::make_unique<Client>(server.port());
      for (int i = 0; i < options.requests / options.clients; ++i) {
        if (i % 500 == 499) client = std::make_unique<Client>(server.port());
        const Answer answer = client->ask(post(options.text));
        require(answer.status == 200, "a translation has status {}", answer.status);
        mine.push_back(answer.milliseconds);
      }
      const std::lock_guard lock(mutex);
      times.insert(times.end(), mine.begin(), mine.end());
    });
  }
  for (auto& thread : threads) thread.join();
  return times;
}

void measure_slow(const Server& server, const Options& options) {
  std::vector<double> alone, beside;
  for (int round = 0; round < options.rounds; ++round) {
    const auto without = latencies(server, options);
    alone.insert(alone.end(), without.begin(), without.end());
    const SlowClients slow(server.port(), options.slow);
    const auto with = latencies(server, options);
    beside.insert(beside.end(), with.begin(), with.end());
  }
  fmt::print("translations alone: p50 {:.2f} ms, p99 {:.2f} ms\n", quantile(alone, 0.5),
             quantile(alone, 0.99));
  fmt::print("beside {} slow clients: p50 {:.2f} ms, p99 {:.2f} ms ({:+.0f} %)\n", options.slow,
             quantile(beside, 0.5), quantile(beside, 0.99),
             100 * (quantile(beside, 0.99) / quantile(alone, 0.99) - 1));
}

// Clients that all ask for many lines at once, while /health is asked too.
void measure_overload(const Server& server, const Options& options) {
  std::string text;
  for (int i = 0; i < 32; ++i) text += options.text + "\\n";
  std::map<int, std::vector<double>> times;  // by status
  std::mutex mutex;
  std::atomic<bool> is_over = false;
  std::vector<double> health;
  std::thread asking([&] {
    while (!is_over) {
      health.push_back(Client(server.port()).ask("GET /health HTTP/1.1\r\n\r\n").milliseconds);
      std::this_thread::sleep_for(5ms);
    }
  });
  std::vector<std::thread> threads;
  double peak = 0;
  for (int c = 0; c < options.flood; ++c) {
    threads.emplace_back([&] {
      const Answer answer = Client(server.port()).ask(post(text));
      const std::lock_guard lock(mutex);
      times[answer.status].push_back(answer.milliseconds);
      peak = std::max(peak, server.megabytes());
    });
  }
  for (auto& thread : threads) thread.join();
  is_over = true;
  asking.join();
  for (auto& [status, all] : times) {
    fmt::print("overload: {} answers with status {}, p50 {:.1f} ms, p99 {:.1f} ms\n", all.size(),
               status, quantile(all, 0.5), quantile(all, 0.99));
  }
  fmt::print("overload: /health {} times, p99 {:.1f} ms; {:.1f} MB at most\n", health.size(),
             quantile(health, 0.99), peak);
}

void run(const Options& options) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const Server server(options);
  const auto settle = [&] {
    std::this_thread::sleep_for(12s);  // until the server returns memory
    return server.megabytes();
  };
  latencies(server, options);
  const double before = settle();
  measure_slow(server, options);
  measure_overload(server, options);
  const double after = settle();
  fmt::print("memory: {:.1f} MB before, {:.1f} MB after ({:+.0f} %)\n", before, after,
             100 * (after / before - 1));
}

}  // namespace
}  // namespace residual

int main(int argc, char** argv) {
  residual::Options options;
  CLI::App app("Measures residual serve beside slow clients and under overload");
  app.add_option("--model", options.model, "model directory")->required();
  app.add_option("--text", options.text, "line to translate")->capture_default_str();
  app.add_option("--slow", options.slow, "slow clients")->capture_default_str();
  app.add_option("--requests", options.requests, "translations per round")->capture_default_str();
  app.add_option("--clients", options.clients, "clients that ask in turn")->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds of each kind")->capture_default_str();
  app.add_option("--flood", options.flood, "clients of the overload")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    residual::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "serve_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
