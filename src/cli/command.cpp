#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

namespace residual::cli {
namespace {

// CLI11 would take the largest 64-bit number for any above it.
constexpr double kTooMany = 0x1p63;

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
    if (group->get_subcommands().empty()) throw CLI::RequiredError("a command");
  });
  return group;
}

CLI::Validator positive() {
  const auto check = [](std::string& text) {
    double value = 0;
    const bool fits = CLI::detail::lexical_cast(text, value) && value > 0 && value < kTooMany;
    return fits ? "" : fmt::format("expected a number greater than 0, got \"{}\"", text);
  };
  return {check, "POSITIVE"};
}

CLI::Validator not_negative() {
  const auto check = [](std::string& text) {
    double value = 0;
    const bool fits = CLI::detail::lexical_cast(text, value) && value >= 0 && value < kTooMany;
    return fits ? "" : fmt::format("expected a number that is not negative, got \"{}\"", text);
  };
  return {check, "NOT NEGATIVE"};
}

void add_replace_invalid(CLI::App& command, text::Invalid& invalid, const std::string& group) {
  command
      .add_flag_callback(
          "--replace-invalid", [&invalid] { invalid = text::Invalid::replace; },
          "put U+FFFD where bytes are not UTF-8, instead of stopping with their line number")
      ->group(group);
}

void add_line_options(CLI::App& command, text::TransformLines& files) {
  command.add_option("input", files.input, "text, one sentence per line; - is standard input")
      ->capture_default_str()
      ->type_name("FILE")
      ->group("Input and output");
  command.add_option("-o,--output", files.output, "where the lines go; - is standard output")
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

void write_result(const fs::path& output, std::string_view content) {
  if (output == "-") {
    FileSystem::real().write(STDOUT_FILENO, "standard output", content);
  } else {
    replace_file(output, content);
  }
}

}  // namespace residual::cli
