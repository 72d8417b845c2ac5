// residual --share DIR: writes manual pages and completions, generated from the command
// definitions. The build runs it; `cmake --install` puts the result below share/.

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "base/version.h"
#include "cli/command.h"
#include "cli/help.h"

namespace residual::cli {
namespace {

// Escapes text for roff: hyphens stay ASCII; no backslash or first character acts as a command.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string dashed(std::string path) {
  for (char& c : path) c = c == ' ' ? '-' : c;
  return path;
}

std::string option_rows(const CLI::App& app) {
  std::string out;
  for (const auto& group : option_groups(app)) {
    out += fmt::format(".SS \"{}\"\n", escaped(group.name));
    for (const CLI::Option* option : group.options) {
      out += fmt::format(".TP\n.B {}\n{}\n", escaped(option_left(*option)),
                         escaped(option_right(*option)));
    }
  }
  return out;
}

// Formats the examples of a command, as in its help.
std::string examples(const CLI::App& app, const std::string& title) {
  std::istringstream lines(app.get_footer());
  std::string heading, out;
  if (!std::getline(lines, heading)) return "";
  for (std::string line; std::getline(lines, line);) out += escaped(line) + "\n";
  return fmt::format("{}\n.nf\n{}.fi\n", title, out);
}

// Commands of a group are sections of its page; top-level commands have separate pages.
std::string commands(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app)) {
    if (app.get_parent()) {
      out += fmt::format(".SH \"{}\"\n{}\n.PP\n.B {}\n{}{}", escaped(path_of(command)),
                         escaped(command->get_description()), escaped(usage_of(*command)),
                         option_rows(*command), examples(*command, ".SS Examples"));
    } else {
      out += fmt::format(".TP\n.BR {} (1)\n{}\n", escaped(dashed(path_of(command))),
                         escaped(command->get_description()));
    }
  }
  if (!out.empty() && !app.get_parent()) out = ".SH COMMANDS\n" + out;
  return out;
}

std::string manual_page(const CLI::App& root, const CLI::App& app) {
  const std::string name = dashed(path_of(&app));
  std::string out =
      fmt::format(".TH \"{}\" 1 \"\" \"residual {}\" \"ResiDual\"\n.SH NAME\n{} \\- {}\n",
                  escaped(name), version(), escaped(name), escaped(app.get_description()));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", escaped(usage_of(app)));
  const std::string options = option_rows(app) + (&app == &root ? "" : option_rows(root));
  out += commands(app) + ".SH OPTIONS\n" + options + examples(app, ".SH EXAMPLES");
  out +=
      ".SH \"EXIT STATUS\"\n0: done, 1: failed, 2: wrong usage. Results go to standard output, "
      "everything else to standard error.\n";
  if (&app != &root) out += ".SH \"SEE ALSO\"\n.BR residual (1)\n";
  return out;
}

void write_share(const CLI::App& root, const fs::path& directory) {
  const auto write = [&](const fs::path& file, const std::string& text) {
    fs::create_directories((directory / file).parent_path());
    replace_file(directory / file, text);
  };
  const fs::path manual = "man/man1";
  write(manual / "residual.1", manual_page(root, root));
  for (const CLI::App* command : commands_of(root)) {
    write(manual / (dashed(path_of(command)) + ".1"), manual_page(root, *command));
  }
  write("bash-completion/completions/residual", completion_script(root, "bash"));
  write("zsh/vendor-completions/_residual", completion_script(root, "zsh"));
  write("fish/vendor_completions.d/residual.fish", completion_script(root, "fish"));
}

}  // namespace

void add_share(CLI::App& root) {
  root.add_option_function<std::string>(
          "--share",
          [&root](const std::string& directory) {
            write_share(root, directory);
            throw CLI::Success();
          },
          "write manual pages and completions")
      ->group("");
}

}  // namespace residual::cli
