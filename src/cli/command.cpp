#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/suggest.h"
#include "cli/help.h"

namespace residual::cli {
namespace {

// A validator for a number. `fits` tests the value; `kind` describes the test in the message.
CLI::Validator number(const char* kind, bool (*fits)(double), const char* name) {
  const auto check = [kind, fits](std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value) || !fits(value)) {
      return fmt::format("expected a number {}, got \"{}\"", kind, text);
    }
    // CLI11 clamps larger numbers to the largest 64-bit number.
    return value < 0x1p63 ? "" : fmt::format("expected a number below 2^63, got \"{}\"", text);
  };
  return {check, name};
}

}  // namespace

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::vector<std::string>& examples) {
  CLI::App* command = parent.add_subcommand(name, summary);
  if (!examples.empty()) {
    std::string footer = "Examples:";
    for (const auto& example : examples) footer += "\n  " + example;
    command->footer(footer);
  }
  return command;
}

CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& summary) {
  CLI::App* group = add_command(parent, name, summary);
  group->require_subcommand(0, 1);  // so that an unknown one is reported as such, not as missing
  group->callback([group] {
    if (group->get_subcommands().empty()) throw CLI::RequiredError(kCommand);
  });
  return group;
}

CLI::Validator positive() {
  return number(
      "greater than 0", [](double value) { return value > 0; }, "POSITIVE");
}

CLI::Validator not_negative() {
  return number(
      "that is not negative", [](double value) { return value >= 0; }, "NOT NEGATIVE");
}

CLI::Validator between(double low, double high) {
  const auto check = [low, high](std::string& text) -> std::string {
    double value = 0;
    const bool fits = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return fits ? "" : fmt::format("expected a number from {} to {}, got \"{}\"", low, high, text);
  };
  return {check, fmt::format("FROM {} TO {}", low, high)};
}

CLI::Validator whole(int64_t low, int64_t high) {
  const auto check = [low, high](std::string& text) -> std::string {
    int64_t value = 0;
    const bool fits = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return fits ? ""
                : fmt::format("expected a whole number from {} to {}, got \"{}\"", low, high, text);
  };
  return {check, fmt::format("WHOLE FROM {} TO {}", low, high)};
}

CLI::Validator in_range(Range range, bool is_whole) {
  const auto check = [range, is_whole](std::string& text) -> std::string {
    double value = 0;
    int64_t whole_value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    // CLI11 would take the largest 64-bit number for any above it.
    if (is_number && is_whole && value >= 0x1p63) {
      return fmt::format("expected a number below 2^63, got \"{}\"", text);
    }
    if (!is_number || (is_whole && !CLI::detail::lexical_cast(text, whole_value))) {
      return fmt::format("expected a {}number, got \"{}\"", is_whole ? "whole " : "", text);
    }
    return range_fault(value, range);
  };
  return {check, "IN RANGE"};
}

void check_standard_input(const std::vector<fs::path>& inputs) {
  if (std::ranges::count(inputs, fs::path("-")) > 1) {
    throw CLI::ValidationError("standard input (-) is given twice, but can be read only once");
  }
}

void add_replace_invalid(CLI::App& command, text::Invalid& invalid, const std::string& group) {
  command
      .add_flag_callback(
          "--replace-invalid", [&invalid] { invalid = text::Invalid::replace; },
          "replace invalid UTF-8 by U+FFFD instead of stopping with the line number")
      ->group(group);
}

void add_line_options(CLI::App& command, text::TransformLines& files) {
  command.add_option("input", files.input, "text, one sentence per line; - is standard input")
      ->capture_default_str()
      ->type_name("FILE")
      ->group("Input and output");
  command.add_option("-o,--output", files.output, "output file; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group("Input and output");
  add_replace_invalid(command, files.invalid, "Input and output");
}

std::string installed_recipe(const std::string& path) {
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path installed = (bin / RESIDUAL_SHARE / path).lexically_normal();
  const bool use = !fs::exists(path, ignored) && fs::is_regular_file(installed, ignored);
  return use ? installed.string() : path;
}

void require_recipe(const fs::path& file) {
  if (fs::exists(file)) return;
  const fs::path installed = fs::path(installed_recipe("recipes/quickstart.toml")).parent_path();
  std::vector<std::string> known;
  std::error_code ignored;
  for (const fs::path& directory : {"." / file.parent_path(), installed}) {
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().extension() == ".toml") known.push_back(entry.path().filename());
    }
  }
  const std::string near = suggestion(file.filename().string(), known);
  fail("{}: no such recipe{}", file.string(),
       near.empty() ? "; ResiDual's own are in recipes/ of its source tree or installation" : near);
}

}  // namespace residual::cli
