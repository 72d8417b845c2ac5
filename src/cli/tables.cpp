// residual --option-tables FILE...: writes the tables of options in pages of the manual, made from
// the commands and the recipes themselves. A table stands between two comments,
//
//   <!-- options: translate Search, Sampling -->    groups of a command's --help, in this order
//   <!-- keys: train -->                            every key of a recipe of train, or of prepare
//   <!-- end -->

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "base/files.h"
#include "cli/command.h"
#include "cli/help.h"
#include "data/recipe.h"
#include "run/config.h"

namespace residual::cli {
namespace {

// Flags and symbols as code; bars do not end a cell.
std::string cell(const std::string& text) {
  static const std::regex code(R"((--[a-z][a-z-]*|</?[a-z]+>|"[^"]*"|https?://[a-z0-9.:]+|\|))");
  std::string out;
  auto at = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), code), end; match != end; ++match) {
    out.append(at, (*match)[0].first);
    std::string found = match->str();
    if (found.starts_with('"')) found = found.substr(1, found.size() - 2);
    out += found == "|" ? "\\|" : "`" + found + "`";
    at = (*match)[0].second;
  }
  return out.append(at, text.end());
}

std::string default_of(const CLI::Option& option) {
  if (option.get_required()) return "required";
  if (option.get_items_expected_max() == 0) return "off";
  const std::string value = option.get_default_str();
  if (value.empty() || value == "\"\"") return "";
  const bool is_number = value.find_first_not_of("0123456789.-+e") == std::string::npos;
  return is_number && value != "-" ? value : "`" + value + "`";
}

std::string option_table(const CLI::App& root, const std::string& command,
                         const std::vector<std::string>& groups) {
  const CLI::App* const app = root.get_subcommand(command);
  const auto known = option_groups(*app);
  std::string out = "| option | default | meaning |\n|---|---|---|\n";
  for (const auto& name : groups) {
    const auto group = std::ranges::find(known, name, &OptionGroup::name);
    require(group != known.end(), "{}: has no group of options called {}", command, name);
    for (const CLI::Option* option : group->options) {
      const std::string value = default_of(*option);
      out += fmt::format("| `{}` |{} | {} |\n", option_left(*option),
                         value.empty() ? "" : " " + value, cell(option->get_description()));
    }
  }
  return out;
}

// What --explain prints, as a table.
std::string key_table(const std::string& explained) {
  std::istringstream lines(explained);
  std::string out = "| key | default | meaning |\n|---|---|---|\n", section, meaning;
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (line.starts_with("# ")) {
      meaning = line.substr(2);
    } else if (line.starts_with('[')) {
      section = line.substr(1, line.find(']') - 1) + ".";
    } else if (equals != std::string::npos) {
      std::string value = line.substr(equals + 3);
      out += fmt::format("| `{}{}` | `{}` | {} |\n", section, line.substr(0, equals), value,
                         cell(meaning));
    }
  }
  return out;
}

std::string table_for(const CLI::App& root, const std::string& kind, const std::string& what) {
  if (kind == "keys") {
    require(what == "train" || what == "prepare", "keys: expected train or prepare, got {}", what);
    return key_table(what == "train" ? explain_config<run::TrainConfig>()
                                     : explain_config<data::Recipe>());
  }
  const size_t space = what.find(' ');
  std::vector<std::string> groups;
  std::istringstream names(what.substr(space + 1));
  for (std::string name; std::getline(names >> std::ws, name, ',');) groups.push_back(name);
  return option_table(root, what.substr(0, space), groups);
}

void rewrite(const CLI::App& root, const fs::path& page) {
  static const std::regex begin("<!-- (options|keys): (.*) -->");
  std::istringstream lines(read_file(page));
  std::string out;
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "<!-- end -->") is_inside = false;
    if (!is_inside) out += line + '\n';
    std::smatch match;
    if (std::regex_match(line, match, begin)) {
      out += '\n' + table_for(root, match[1], match[2]) + '\n';
      is_inside = true;
    }
  }
  require(!is_inside, "{}: a table of options has no <!-- end -->", page.string());
  replace_file(page, out);
}

}  // namespace

void add_option_tables(CLI::App& root) {
  root.add_option_function<std::vector<std::string>>(
          "--option-tables",
          [&root](const std::vector<std::string>& pages) {
            for (const auto& page : pages) rewrite(root, page);
            throw CLI::Success();
          },
          "write the tables of options in pages of the manual")
      ->group("");
}

}  // namespace residual::cli
