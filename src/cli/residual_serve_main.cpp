// residual-serve: the program for `residual serve`, which needs HTTP libraries. `residual` runs it
// with the same command line.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/log.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/serve.h"
#include "serve/describe.h"
#include "serve/keys.h"
#include "serve/server.h"

namespace residual::cli {
namespace {

// Blocks SIGINT, SIGTERM and SIGHUP in this thread and the threads that it starts.
sigset_t block_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// SIGHUP reads certificate and keys again. The first other signal stops the server, which still
// answers accepted requests; the second ends the process.
void obey(const sigset_t& signals, serve::Server& server) {
  std::thread([&server, signals] {
    const auto wait = [&] {
      int signal = 0;
      while (::sigwait(&signals, &signal), signal == SIGHUP) server.reload();
      return signal;
    };
    wait();
    log::info("stopping");
    server.stop();
    ::_exit(128 + wait());
  }).detach();
}

void make_key(const std::string& name) {
  const serve::NewKey made = serve::new_key(name);
  fmt::print("{}\n", made.line);
  fmt::print(stderr, "the key of {}, which is not stored anywhere: {}\n", name, made.key);
}

void run_serve(const ServeCommand& command) {
  if (command.is_openapi) return fmt::print("{}", serve::openapi());
  if (command.new_api_key) return make_key(*command.new_api_key);
  const sigset_t signals = block_signals();
  static serve::Server server(command.server);  // static, because the signal thread is never joined
  obey(signals, server);
  const auto serve = [&](auto model) {
    fmt::print("{}\n", server.address());
    std::fflush(stdout);
    server.run(std::move(model));
  };
  const bool has_model = !command.model.models.empty();
  if (has_model && kind_of(command.model) == model::Kind::language) {
    return serve(std::shared_ptr<decode::Generator>(load_generator(command.model)));
  }
  std::shared_ptr<decode::Translator> translator;
  if (has_model) translator = load_translator(command.model);
  serve(std::move(translator));
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  // By default glibc gives every few threads an arena of their own: the memory of a peak is then
  // spread over many pages that cannot be returned. No more threads run at once than this.
  ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  return residual::cli::run_program(
      argc, argv, [](CLI::App& root) { residual::cli::add_serve(root, residual::cli::run_serve); });
}
