#include "cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

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
constexpr const char* kEndOfOptions = "--end-of-options";

void add_global_options(CLI::App& root) {
  root.add_option_function<int>(
          "--threads", [](int threads) { set_thread_count(threads); },
          "number of threads (default: all cores available to the process)")
      ->check(whole(1, kMaxThreads))
      ->type_name("N")
      ->group("Options of every command");
  root.add_flag_callback(
          "-q,--quiet",
          [] {
            Progress::set_quiet(true);
            log::set_level(log::Level::warning);
          },
          "print only warnings and errors, no progress")
      ->group("Options of every command");
  root.add_flag_callback(
          "-v,--verbose", [] { log::set_level(log::Level::debug); }, "print debug messages")
      ->group("Options of every command");
  root.add_flag(kEndOfOptions)->group("");  // hidden
}

// Opens /dev/null for every closed standard stream. Otherwise the next file opened would take the
// stream's number and receive its data. Using input or output is still an error; messages are lost.
void keep_standard_streams() {
  for (const auto& [stream, mode] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}}) {
    if (::fcntl(stream, F_GETFD) == -1) ::open("/dev/null", mode);  // the lowest number is free
  }
}

// Whether the word is an option, of the command or of one above it, that takes a value.
bool takes_value(const CLI::App* app, const std::string& word) {
  if (!word.starts_with("-")) return false;
  for (; app; app = app->get_parent()) {
    const CLI::Option* option = app->get_option_no_throw(word);
    if (option) return option->get_items_expected_min() > 0;
  }
  return false;
}

// Returns the command line in reverse order, as CLI11 expects it. CLI11 treats "--" differently:
// after an operand it ends the command, and after an option's values it does not end all options. A
// flag therefore replaces it, and operands after it are changed so that none looks like an option.
std::vector<std::string> words_of(int argc, char** argv, const CLI::App& root) {
  std::vector<std::string> words;
  const CLI::App* app = &root;
  bool is_value = false, is_operand = false;
  if (argc > 1 && argv[1] == std::string("help")) {  // `residual help CMD`: `residual CMD --help`
    for (int i = argc; i-- > 2;) words.emplace_back(argv[i]);
    words.insert(words.begin(), "--help");
    return words;
  }
  for (int i = 1; i < argc; ++i) {
    std::string& word = words.emplace_back(argv[i]);
    if (is_operand) {
      if (word.size() > 1 && word.starts_with("-")) word.insert(0, "./");
    } else if (word == "--" && !is_value) {
      word = kEndOfOptions;
      is_operand = true;
    } else {
      is_value = takes_value(app, word);
      for (const CLI::App* command : commands_of(*app)) {
        if (command->get_name() == word) app = command;
      }
    }
  }
  std::ranges::reverse(words);
  return words;
}

int report(const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "residual: error: {}\n", message);
  return kFailed;
}

int run(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands) {
  CLI::App root("Transformer translation models with dual residual connections", "residual");
  set_up_help(root);
  add_global_options(root);
  add_version(root);
  add_commands(root);
  root.require_subcommand(0, 1);
  try {
    root.parse(words_of(argc, argv, root));
    if (root.get_subcommands().empty()) {
      fmt::print(stderr, "{}", root.help());
      return kWrongUsage;
    }
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::CallForHelp& help) {
    // CLI11 prints help before it reports unknown arguments.
    const bool is_unknown = root.get_subcommands().empty() && !root.remaining().empty();
    if (is_unknown) {
      root.exit(CLI::ExtrasError("residual", root.remaining()), std::cout, std::cerr);
      return kWrongUsage;
    }
    root.exit(help, std::cout, std::cerr);
    std::cout.flush();
  } catch (const CLI::RequiredError& error) {
    // A misspelt option is the likely reason why a required one is missing.
    const auto extras = root.remaining(/*recurse=*/true);
    const bool is_misspelt =
        std::ranges::any_of(extras, [](const auto& word) { return word.starts_with("--"); });
    if (is_misspelt) {
      root.exit(CLI::ExtrasError("residual", extras), std::cout, std::cerr);
    } else {
      root.exit(error, std::cout, std::cerr);
    }
    return kWrongUsage;
  } catch (const CLI::ParseError& error) {
    if (root.exit(error, std::cout, std::cerr) != 0) return kWrongUsage;
    std::cout.flush();  // a help or version text
  } catch (const Error& error) {
    return report(error.what());
  } catch (const std::bad_alloc&) {
    return report("out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return report(fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::system_error& error) {
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    return report(is_thread ? "cannot create a thread; use fewer (--threads), or raise the limit "
                              "on memory or processes (ulimit -a)"
                            : error.what());
  } catch (const std::exception& error) {
    return report(error.what());
  }
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return report("cannot write to standard output");
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv,
                const std::function<void(CLI::App&)>& add_commands) noexcept {
  keep_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with its reason
  try {
    return run(argc, argv, add_commands);
  } catch (...) {  // reporting an error failed: there is no way left to report this one
    return kFailed;
  }
}

}  // namespace residual::cli
