#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/suggest.h"

namespace residual::cli {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kIndent = 28;  // where descriptions start

// Puts `left` in the first column and wraps `right` beside it, or below it if `left` is too long.
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

// CLI11 appends a validator's name to the type: "N:POSITIVE". The description says it better.
std::string type_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// Whether one use of the option takes several values.
bool takes_several(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 && option.get_allow_extra_args();
}

class Help : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    const CLI::App* root = app;
    while (root->get_parent()) root = root->get_parent();
    std::string out = fmt::format("{}\n\nUsage: {}\n", app->get_description(), usage_of(*app));

    const auto commands = commands_of(*app);
    if (!commands.empty()) {
      out += "\nCommands:\n";
      for (const CLI::App* command : commands) {
        out += row(command->get_name(), command->get_description());
      }
    }
    if (app == root) out += "\n`residual COMMAND --help` shows its options and examples.\n";
    out += groups(*app);
    if (app != root) out += groups(*root);
    if (!app->get_footer().empty()) out += "\n" + app->get_footer() + "\n";
    return out;
  }

 private:
  static std::string groups(const CLI::App& app) {
    std::string out;
    for (const auto& group : option_groups(app)) {
      out += fmt::format("\n{}:\n", group.name);
      for (const CLI::Option* option : group.options) {
        out += row(option_left(*option), option_right(*option));
      }
    }
    return out;
  }
};

// The command whose arguments were being parsed, such as "residual bpe learn".
const CLI::App* deepest(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return app;
}

// CLI11 lists unexpected arguments at the end of its message. The message gets a suggestion for the
// first of them, taken from the known names.
std::string unexpected(const CLI::App& app, const std::string& message) {
  const auto commands = commands_of(app);
  const bool is_command = !commands.empty();
  std::istringstream words(message.substr(message.rfind(':') + 1));
  std::string word;
  for (std::string next; (is_command || !word.starts_with("-")) && words >> next;) {
    // Where a command is expected, report the first argument, which CLI11 lists last; otherwise
    // report an option rather than its value.
    if (word.empty() || is_command || next.starts_with("-")) word = next;
  }
  std::vector<std::string> known;
  for (const CLI::App* at = &app; at; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (const CLI::App* command : commands) known.push_back(command->get_name());
  return fmt::format("unknown {} \"{}\"{}",
                     word.starts_with("-") ? "option"
                     : is_command          ? "command"
                                           : "argument",
                     word, suggestion(word, known));
}

// Names the commands of a group, and says what a missing option or argument is.
std::string required(const CLI::App& app, const std::string& message) {
  const std::string after = " is required";
  if (message == kCommand + after) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
    return fmt::format("{}: {}", message, fmt::join(names, ", "));
  }
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_positional() ? option_left(*option) : option->get_name();
    if (message == name + after) return fmt::format("{}: {}", message, option->get_description());
  }
  return message;
}

// Rewords "Could not convert: --beam = 1e3"; only the conversion to a number can fail there.
std::string not_a_number(const std::string& message) {
  const std::string before = "Could not convert: ";
  const size_t equals = message.find(" = ");
  if (!message.starts_with(before) || equals == std::string::npos) return message;
  const std::string name = message.substr(before.size(), equals - before.size());
  const std::string text = message.substr(equals + 3);
  double value = 0;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  return fmt::format("{}: expected a {}number, got \"{}\"", name, is_number ? "whole " : "", text);
}

// Rewords CLI11's message about a single-valued option that is given more than once.
std::string given_twice(const std::string& message) {
  const size_t counts = message.find(": At Most 1 required but received ");
  if (counts == std::string::npos) return message;
  return message.substr(0, counts) + ": given more than once";
}

// CLI11 names a positional argument as in the code; help and messages use its type name.
std::string called_as_in_help(const CLI::App& app, std::string message) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name() + " ";
    if (option->get_positional() && message.starts_with(name)) {
      message.replace(0, name.size(), option_left(*option) + " ");
    }
  }
  return message;
}

}  // namespace

std::string option_left(const CLI::Option& option) {
  if (option.get_positional()) {
    return type_name(option).empty() ? option.get_name() : type_name(option);
  }
  std::string left = option.get_name(false, true);
  for (size_t at = 0; (at = left.find(',', at)) != std::string::npos; at += 2)
    left.insert(at + 1, " ");
  if (option.get_items_expected_max() != 0 && !type_name(option).empty()) {
    left += " " + type_name(option);
    if (takes_several(option)) left += "...";
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

std::string path_of(const CLI::App* app) {
  return (app->get_parent() ? path_of(app->get_parent()) + " " : "") + app->get_name();
}

std::string usage_of(const CLI::App& app) {
  bool options = false;
  std::string path = path_of(&app), required, positionals;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option_left(*option) + (takes_several(*option) ? "..." : "");
      positionals += option->get_required() ? " " + name : " [" + name + "]";
    } else if (option->get_required()) {
      required += " " + option_left(*option);
    } else {
      options = true;
    }
  }
  if (!commands_of(app).empty()) path += " COMMAND";
  return path + required + (options ? " [OPTIONS]" : "") + positionals;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<OptionGroup> option_groups(const CLI::App& app) {
  std::vector<OptionGroup> groups;
  for (const std::string& name : app.get_groups()) {
    OptionGroup group{name, app.get_options([&](const CLI::Option* option) {
                        const bool own_help = app.get_parent() && option == app.get_help_ptr();
                        return !name.empty() && option->get_group() == name && !own_help;
                      })};
    if (!group.options.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

void set_up_help(CLI::App& root) {
  root.fallthrough();
  root.formatter(std::make_shared<Help>());
  root.set_help_flag("-h,--help", "print this help")->group("Options of every command");
  root.failure_message([](const CLI::App* app, const CLI::Error& error) {
    app = deepest(app);
    std::string message = error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error)) message = unexpected(*app, message);
    if (dynamic_cast<const CLI::ConversionError*>(&error)) message = not_a_number(message);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) message = given_twice(message);
    if (dynamic_cast<const CLI::RequiredError*>(&error) ||
        dynamic_cast<const CLI::ExcludesError*>(&error)) {
      message = required(*app, called_as_in_help(*app, message));
    }
    return fmt::format("residual: {}\nTry `{} --help`.\n", message, path_of(app));
  });
}

}  // namespace residual::cli
