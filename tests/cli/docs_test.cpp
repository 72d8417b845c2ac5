// The transcripts in docs/commands/ are run: what they show is what a reader gets.
//
// In a block that starts with ```sh, a line "$ command" is run by bash (a trailing backslash
// continues it) in one directory per page, and the lines up to the next command are its standard
// output. A line "..." stands for any lines. Pages that mention models/reverse,
// models/language.residual, models/masked.residual, marian/ or hugging-face/ find them
// there.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/reverse_model.h"
#include "support/shell.h"

namespace residual {
namespace {

namespace fs = std::filesystem;

struct Step {
  int line;
  std::string command;
  std::vector<std::string> output;
};

std::vector<Step> steps_of(const fs::path& page) {
  std::ifstream file(page);
  std::vector<Step> steps;
  bool inside = false, continued = false, any = false;  // any: a command in this block
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside && line == "```sh";
      continued = any = false;
    } else if (inside && continued) {
      steps.back().command += "\n" + line;
      continued = line.ends_with("\\");
    } else if (inside && line.starts_with("$ ")) {
      steps.push_back({number, line.substr(2), {}});
      continued = line.ends_with("\\");
      any = true;
    } else if (inside && any) {
      steps.back().output.push_back(line);
    }
  }
  return steps;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> without_blank_end(std::vector<std::string> lines) {
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// `expected` may contain "..." for any lines.
bool matches(const std::vector<std::string>& expected, size_t e,
             const std::vector<std::string>& got, size_t g) {
  if (e == expected.size()) return g == got.size();
  if (expected[e] == "...") {
    for (size_t skip = g; skip <= got.size(); ++skip) {
      if (matches(expected, e + 1, got, skip)) return true;
    }
    return false;
  }
  return g < got.size() && expected[e] == got[g] && matches(expected, e + 1, got, g + 1);
}

class Page : public testing::TestWithParam<fs::path> {};

TEST_P(Page, ShowsWhatItsCommandsPrint) {
  const test::TemporaryDirectory directory;
  const std::string cd = "cd '" + directory.path().string() + "'\n";
  const auto steps = steps_of(GetParam());
  const auto mentions = [&](const std::string& path) {
    return std::ranges::any_of(
        steps, [&](const Step& step) { return step.command.find(path) != std::string::npos; });
  };
  if (mentions("marian/")) {
    fs::copy(fs::path(test::fixtures()) / "marian", directory / "marian",
             fs::copy_options::recursive);
  }
  if (mentions("hugging-face/")) {
    fs::copy(fs::path(test::fixtures()) / "hugging-face", directory / "hugging-face",
             fs::copy_options::recursive);
  }
  for (const std::string model : {"models/language.residual", "models/masked.residual"}) {
    if (!mentions(model)) continue;
    fs::create_directories(directory / "models");
    fs::copy(fs::path(test::fixtures()) / "language" / fs::path(model).filename(),
             directory / model);
  }
  if (mentions("models/reverse")) {
    const auto made =
        test::run(cd + "mkdir -p models\n" + test::make_reverse_model("models/reverse"));
    ASSERT_EQ(made.exit_code, 0) << made.error;
  }
  for (const auto& step : steps) {
    SCOPED_TRACE(GetParam().filename().string() + ":" + std::to_string(step.line) + ": " +
                 step.command);
    const auto result = test::run(cd + step.command);
    for (const std::string other : {"residual-train", "residual-serve"}) {
      const bool is_missed = result.error.find(other + " is not installed") != std::string::npos;
      if (is_missed && !fs::exists(fs::path(test::programs()) / other)) {
        GTEST_SKIP() << "this build has no " << other;
      }
    }
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_TRUE(
        matches(without_blank_end(step.output), 0, without_blank_end(lines_of(result.output)), 0))
        << "printed:\n"
        << result.output;
  }
}

std::vector<fs::path> pages() {
  const fs::path root = test::source_tree();
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(root / "docs/commands"))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Commands, Page, testing::ValuesIn(pages()), name_of);

TEST(Pages, ExistForEveryCommand) {
  const auto help = test::run("residual --help").output;
  std::istringstream lines(help.substr(help.find("Commands:\n") + 10));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.size() < 3 || line[2] == ' ') continue;
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(fs::exists(fs::path(test::source_tree()) / "docs/commands" / (command + ".md")))
        << command;
  }
}

// The options of a --help text, each by all its names; those of every command are left out.
std::vector<std::vector<std::string>> options_in(std::string help) {
  static const std::regex name("--?[a-zA-Z][a-zA-Z0-9-]*");
  help = help.substr(0, help.find("Options of every command:"));
  std::vector<std::vector<std::string>> options;
  for (const auto& line : lines_of(help)) {
    if (!line.starts_with("  -")) continue;
    const std::string left = line.substr(2, line.find("  ", 2) - 2);
    options.emplace_back();
    const auto end = std::sregex_iterator();
    for (auto at = std::sregex_iterator(left.begin(), left.end(), name); at != end; ++at) {
      options.back().push_back(at->str());
    }
  }
  return options;
}

std::string text_of(const fs::path& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

// The page of a command and those of the commands that it refers to.
std::string pages_about(const fs::path& page) {
  static const std::regex link(R"(\]\(([a-z-]+\.md)[)#])");
  const std::string text = text_of(page);
  std::string all = text;
  const auto end = std::sregex_iterator();
  for (auto at = std::sregex_iterator(text.begin(), text.end(), link); at != end; ++at) {
    all += text_of(page.parent_path() / (*at)[1].str());
  }
  return all;
}

TEST(Pages, MentionEveryOption) {
  for (const auto& page : pages()) {
    const std::string command = "residual " + page.stem().string();
    const std::string help = test::run(command + " --help").output;
    auto options = options_in(help);
    const size_t groups = help.find("Commands:\n");
    const auto sub_commands = groups == std::string::npos ? "" : help.substr(groups + 10);
    for (const auto& line : lines_of(sub_commands)) {
      if (line.empty()) break;
      if (line[2] == ' ') continue;
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      const auto more = options_in(test::run(command + " " + name + " --help").output);
      options.insert(options.end(), more.begin(), more.end());
    }
    const std::string text = pages_about(page);
    for (const auto& names : options) {
      const auto is_there = [&](const std::string& name) {
        return std::regex_search(text, std::regex("[^a-z-]" + name + "([^a-z0-9-]|$)"));
      };
      EXPECT_TRUE(std::ranges::any_of(names, is_there)) << page << " lacks " << names.back();
    }
  }
}

// Tables of options between <!-- options: ... --> and <!-- end --> are made from the commands.
TEST(Pages, HaveTheOptionsOfTheCommands) {
  const std::string commands = (fs::path(test::source_tree()) / "docs/commands").string();
  const auto made = test::run("cp '" + commands + "'/*.md . && residual --option-tables *.md && " +
                              "diff -u '" + commands + "' .");
  EXPECT_EQ(made.exit_code, 0) << made.error << made.output
                               << "run: residual --option-tables docs/commands/*.md";
}

}  // namespace
}  // namespace residual
