// residual-serve: the program for `residual serve`, which needs HTTP libraries. `residual` runs it
// with the same command line.

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "base/log.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/serve.h"
#include "serve/describe.h"
#include "serve/server.h"

namespace residual::cli {
namespace {

// Blocks SIGINT and SIGTERM in this thread and the threads that it starts.
sigset_t block_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The first signal stops the server, which still answers accepted requests; the second ends the
// process.
void stop_on(const sigset_t& signals, serve::Server& server) {
  std::thread([&server, signals] {
    int signal = 0;
    ::sigwait(&signals, &signal);
    log::info("stopping");
    server.stop();
    ::sigwait(&signals, &signal);
    ::_exit(128 + signal);
  }).detach();
}

void run_serve(const ServeCommand& command) {
  if (command.is_openapi) return fmt::print("{}", serve::openapi());
  const sigset_t signals = block_signals();
  static serve::Server server(command.server);  // static, because the signal thread is never joined
  stop_on(signals, server);
  const std::shared_ptr<decode::Translator> translator = load_translator(command.model);
  fmt::print("{}\n", server.address());
  std::fflush(stdout);
  server.run(translator);
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  return residual::cli::run_program(
      argc, argv, [](CLI::App& root) { residual::cli::add_serve(root, residual::cli::run_serve); });
}
