// The transcripts in README.md and docs/ are run: what they show is what a reader gets.
//
// In a block that starts with ```sh, a line "$ command" is run by bash (a trailing backslash
// continues it) in one directory per page, and the lines up to the next command are its standard
// output. A line "..." stands for any lines. Pages that mention models/reverse find it there.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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
  const auto uses_model = [](const Step& step) {
    return step.command.find("models/reverse") != std::string::npos;
  };
  if (std::ranges::any_of(steps, uses_model)) {
    const auto made = test::run(cd + "mkdir models\n" + test::make_reverse_model("models/reverse"));
    ASSERT_EQ(made.exit_code, 0) << made.error;
  }
  for (const auto& step : steps) {
    SCOPED_TRACE(GetParam().filename().string() + ":" + std::to_string(step.line) + ": " +
                 step.command);
    const auto result = test::run(cd + step.command);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_TRUE(
        matches(without_blank_end(step.output), 0, without_blank_end(lines_of(result.output)), 0))
        << "printed:\n"
        << result.output;
  }
}

std::vector<fs::path> pages() {
  const fs::path root = RESIDUAL_SOURCE_DIR;
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
    EXPECT_TRUE(fs::exists(fs::path(RESIDUAL_SOURCE_DIR) / "docs/commands" / (command + ".md")))
        << command;
  }
}

}  // namespace
}  // namespace residual
