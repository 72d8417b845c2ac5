#include "cli/help.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace residual::cli {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kIndent = 28;  // where descriptions start

// `left` in its column, `right` wrapped beside it, or below it if `left` is too long.
std::string row(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  size_t column = out.size();
  if (column + 2 > kIndent) {
    out += '\n';
    column = 0;
  }
  out.append(kIndent - column, ' ');
  column = kIndent;
  std::istringstream words(right);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(kIndent, ' ');
      column = kIndent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

std::string option_left(const CLI::Option& option) {
  if (option.get_positional()) {
    return option.get_type_name().empty() ? option.get_name() : option.get_type_name();
  }
  std::string left = option.get_name(false, true);
  for (size_t at = 0; (at = left.find(',', at)) != std::string::npos; at += 2)
    left.insert(at + 1, " ");
  if (option.get_items_expected_max() != 0 && !option.get_type_name().empty()) {
    left += " " + option.get_type_name();
    if (option.get_items_expected_max() > 1) left += "...";
  }
  return left;
}

std::string option_right(const CLI::Option& option) {
  std::string right = option.get_description();
  const std::string value = option.get_default_str();
  if (option.get_required()) {
    right += " (required)";
  } else if (!value.empty() && value != "\"\"") {
    right += fmt::format(" (default: {})", value);
  }
  return right;
}

class Help : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    std::string path = app->get_name();
    const CLI::App* root = app;
    for (; root->get_parent(); root = root->get_parent()) {
      path = root->get_parent()->get_name() + " " + path;
    }
    std::string out = fmt::format("{}\n\nUsage: {}\n", app->get_description(), usage(*app, path));

    const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
    if (!commands.empty()) {
      out += "\nCommands:\n";
      for (const CLI::App* command : commands) {
        out += row(command->get_name(), command->get_description());
      }
    }
    out += groups(*app);
    if (app != root) out += groups(*root);
    if (!app->get_footer().empty()) out += "\n" + app->get_footer() + "\n";
    return out;
  }

 private:
  static std::string usage(const CLI::App& app, std::string path) {
    bool options = false;
    std::string required, positionals;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        const std::string name =
            option_left(*option) + (option->get_items_expected_max() > 1 ? "..." : "");
        positionals += option->get_required() ? " " + name : " [" + name + "]";
      } else if (option->get_required()) {
        required += " " + option_left(*option);
      } else {
        options = true;
      }
    }
    if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) path += " COMMAND";
    return path + required + (options ? " [OPTIONS]" : "") + positionals;
  }

  static std::string groups(const CLI::App& app) {
    std::string out;
    for (const std::string& group : app.get_groups()) {
      if (group.empty()) continue;
      out += fmt::format("\n{}:\n", group);
      for (const CLI::Option* option :
           app.get_options([&](const CLI::Option* o) { return o->get_group() == group; })) {
        const bool repeats_root = app.get_parent() && option == app.get_help_ptr();
        if (!repeats_root) out += row(option_left(*option), option_right(*option));
      }
    }
    return out;
  }
};

}  // namespace

void set_up_help(CLI::App& root) {
  root.fallthrough();
  root.formatter(std::make_shared<Help>());
  root.set_help_flag("-h,--help", "this text")->group("Options of every command");
  root.failure_message([](const CLI::App* app, const CLI::Error& error) {
    std::string path = app->get_name();
    for (const CLI::App* at = app; at->get_parent(); at = at->get_parent()) {
      path = at->get_parent()->get_name() + " " + path;
    }
    return fmt::format("residual: {}\nTry `{} --help`.\n", error.what(), path);
  });
}

}  // namespace residual::cli
