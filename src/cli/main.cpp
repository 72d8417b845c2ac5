// residual: the command. Parses the line, runs one sub-command, turns errors into exit codes:
// 0 done, 1 failed, 2 wrong usage. Results go to standard output, everything else to standard
// error.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/help.h"

namespace residual::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kMaxThreads = 1024;

void add_global_options(CLI::App& root) {
  root.add_option_function<int>(
          "--threads", [](int threads) { set_thread_count(threads); },
          "cores to use; all that the process may use unless given")
      ->check(CLI::Range(1, kMaxThreads))
      ->type_name("N")
      ->group("Options of every command");
  root.add_flag_callback(
          "-q,--quiet",
          [] {
            Progress::set_quiet(true);
            log::set_level(log::Level::warning);
          },
          "no progress, only warnings and errors")
      ->group("Options of every command");
  root.add_flag_callback(
          "-v,--verbose", [] { log::set_level(log::Level::debug); }, "say more")
      ->group("Options of every command");
}

int report(const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "residual: error: {}\n", message);
  return kFailed;
}

int run(int argc, char** argv) {
  CLI::App root("Transformer translation models with dual residual connections", "residual");
  set_up_help(root);
  add_global_options(root);
  add_version(root);
  add_fetch(root);
  add_prepare(root);
  add_corpus(root);
  add_normalize(root);
  add_tokenize(root);
  add_detokenize(root);
  add_bpe(root);
  add_sentencepiece(root);
  add_vocabulary(root);
  add_score(root);
  add_schemes(root);
  add_import_fairseq(root);
  add_average(root);
  add_info(root);
  add_verify(root);
  add_completions(root);
  root.require_subcommand(0, 1);
  try {
    root.parse(argc, argv);
    if (root.get_subcommands().empty()) {
      fmt::print(stderr, "{}", root.help());
      return kWrongUsage;
    }
  } catch (const CLI::ParseError& error) {
    if (root.exit(error, std::cout, std::cerr) != 0) return kWrongUsage;
    std::cout.flush();  // a help or version text
  } catch (const Error& error) {
    return report(error.what());
  } catch (const std::bad_alloc&) {
    return report("out of memory");
  } catch (const std::exception& error) {
    return report(error.what());
  }
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return report("cannot write to standard output");
  }
  return 0;
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  try {
    return residual::cli::run(argc, argv);
  } catch (...) {  // only what reporting an error threw: nothing is left to report it with
    return 1;
  }
}
