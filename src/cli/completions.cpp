// residual completions: prints a shell's completion script, generated from the command definitions.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "cli/command.h"

namespace residual::cli {
namespace {

const CLI::App* root_of(const CLI::App* app) {
  while (app->get_parent()) app = app->get_parent();
  return app;
}

struct Word {
  std::string text, meaning;
  bool takes_value = false;
};

// The words that may follow a command: sub-commands, its options, and the global options.
struct Node {
  std::string path;  // "residual bpe learn"
  std::vector<Word> commands, options;
};

void add_options(const CLI::App& app, const CLI::Option* except, std::vector<Word>& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (option == except || option->get_group().empty()) continue;  // hidden
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const auto& name : option->get_lnames()) {
      options.push_back({"--" + name, option->get_description(), takes_value});
    }
    for (const auto& name : option->get_snames()) {
      options.push_back({"-" + name, option->get_description(), takes_value});
    }
  }
}

void collect(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  Node node{.path = path};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) {
    node.commands.push_back({command->get_name(), command->get_description()});
  }
  add_options(app, nullptr, node.options);
  const CLI::App* root = root_of(&app);
  if (&app != root)
    add_options(*root, root->get_help_ptr(), node.options);  // each has its own help
  nodes.push_back(std::move(node));
  for (const CLI::App* command : commands)
    collect(*command, path + " " + command->get_name(), nodes);
}

// The longest known path that the words typed so far begin with; options and their values are
// skipped over because no path contains them.
constexpr const char* kBash = R"(_residual() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} path=residual word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path $word" in
{paths}    esac
  done
  local words=
  case $path in
{words}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  local IFS=$'\n'
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -F _residual residual
)";

std::string bash(const std::vector<Node>& nodes) {
  std::string paths, words;
  for (const auto& node : nodes) {
    if (node.path != "residual") {
      paths +=
          fmt::format("      {}) path={} ;;\n", single_quoted(node.path), single_quoted(node.path));
    }
    std::string list;
    for (const auto& word : node.commands) list += word.text + " ";
    for (const auto& word : node.options) list += word.text + " ";
    words += fmt::format("    {}) words={} ;;\n", single_quoted(node.path), single_quoted(list));
  }
  return fmt::format(kBash, fmt::arg("paths", paths), fmt::arg("words", words));
}

constexpr const char* kZsh = R"(#compdef residual
_residual() {{
  local where=residual word
  local -a commands options
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$where $word" in
{paths}    esac
  done
  case $where in
{words}  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  else
    (( $#commands )) && _describe command commands
    _files
  fi
}}
if [[ $funcstack[1] == _residual ]]; then _residual "$@"; else compdef _residual residual; fi
)";

std::string zsh_array(const std::vector<Word>& words) {
  std::string out;
  for (const auto& word : words) {
    std::string meaning;
    for (const char c : word.meaning) meaning += c == ':' ? std::string("\\:") : std::string(1, c);
    out += " " + single_quoted(word.text + ":" + meaning);
  }
  return out;
}

std::string zsh(const std::vector<Node>& nodes) {
  std::string paths, words;
  for (const auto& node : nodes) {
    if (node.path != "residual") {
      paths += fmt::format("      {}) where={} ;;\n", single_quoted(node.path),
                           single_quoted(node.path));
    }
    words +=
        fmt::format("    {})\n      commands=({} )\n      options=({} ) ;;\n",
                    single_quoted(node.path), zsh_array(node.commands), zsh_array(node.options));
  }
  return fmt::format(kZsh, fmt::arg("paths", paths), fmt::arg("words", words));
}

constexpr const char* kFish = R"(function __residual_path
  set -l path residual
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
{paths}    end
  end
  echo $path
end
{words})";

std::string fish(const std::vector<Node>& nodes) {
  std::string paths, lines;
  for (const auto& node : nodes) {
    if (node.path != "residual") {
      paths += fmt::format("      case {}\n        set path {}\n", single_quoted(node.path),
                           single_quoted(node.path));
    }
    const std::string where =
        fmt::format("complete -c residual -n \"test (__residual_path) = '{}'\"", node.path);
    for (const auto& word : node.commands) {
      lines += fmt::format("{} -a {} -d {}\n", where, word.text, single_quoted(word.meaning));
    }
    for (const auto& word : node.options) {
      const bool is_long = word.text.starts_with("--");
      lines += fmt::format("{} -{} {}{} -d {}\n", where, is_long ? "l" : "s",
                           word.text.substr(is_long ? 2 : 1), word.takes_value ? " -r" : "",
                           single_quoted(word.meaning));
    }
  }
  return fmt::format(kFish, fmt::arg("paths", paths), fmt::arg("words", lines));
}

}  // namespace

std::string completion_script(const CLI::App& root, const std::string& shell) {
  std::vector<Node> nodes;
  collect(root, "residual", nodes);
  return shell == "bash" ? bash(nodes) : shell == "zsh" ? zsh(nodes) : fish(nodes);
}

void add_completions(CLI::App& root) {
  CLI::App* command = add_command(
      root, "completions", "Print a shell's completion script",
      {"mkdir -p ~/.local/share/bash-completion/completions",
       "residual completions bash > ~/.local/share/bash-completion/completions/residual",
       "residual completions zsh > _residual  # into a directory of $fpath",
       "residual completions fish > ~/.config/fish/completions/residual.fish"});
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->group("Shell");
  command->callback([&root, shell] { fmt::print("{}", completion_script(root, *shell)); });
}

}  // namespace residual::cli
