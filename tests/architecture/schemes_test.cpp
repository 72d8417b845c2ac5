// A scheme is one header: nothing outside src/schemes names one, but for the files listed here.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"

namespace residual {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = fs::path(test::source_tree()) / "src";

// Beginnings of paths in src/, and what they need names for.
const std::map<std::string, const char*> kMayName = {
    {"interop/", "formats that have only some schemes"},
    {"study/paper.cpp", "the rows of the paper's tables"},
    {"probe/theory", "the paper's theorems, each about one scheme"},
    {"run/config", "a learning-rate schedule that is called t-fixup"},
    {"cli/model/import_fairseq.cpp", "the schemes of that format"},
    {"cli/model/export.cpp", "an example of a command line"},
    {"cli/probe.cpp", "an example of a command line"},
    {"cli/schemes.cpp", "an example of a command line"},
    {"cli/text/shortlist.cpp", "an example of a command line"},
};

std::string text_of(const fs::path& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

std::vector<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), regex);
       at != std::sregex_iterator(); ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

// The names that users write, the headers, and the types.
struct Names {
  std::vector<std::string> words, headers, types;
};

Names names() {
  Names all;
  for (const auto& header :
       found_in(text_of(kSource / "schemes/list.h"), R"re(#include "schemes/(\w+\.h)")re")) {
    const std::string text = text_of(kSource / "schemes" / header);
    all.headers.push_back("schemes/" + header);
    for (const auto& word : found_in(text, R"re(return \{\.name = "([^"]+)")re")) {
      all.words.push_back(word);
    }
    for (const auto& type : found_in(text, R"(\nstruct (\w+) \{)")) all.types.push_back(type);
  }
  return all;
}

std::string joined(const std::vector<std::string>& items) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : "|") + item;
  return all;
}

// Comments may name papers.
std::string without_comment(const std::string& line) {
  const size_t comment = line.find("//");
  const bool is_address = comment != std::string::npos && comment > 0 && line[comment - 1] == ':';
  return is_address ? line : line.substr(0, comment);
}

TEST(Schemes, AreFoundInTheirHeaders) {
  const Names all = names();
  EXPECT_GE(all.headers.size(), 10u);
  EXPECT_EQ(all.words.size(), all.headers.size());
  EXPECT_EQ(all.types.size(), all.headers.size());
}

TEST(Schemes, AreAddedAsThePageSays) {
  const fs::path root = test::source_tree();
  const std::string header = text_of(root / "tests/schemes/sandwich.h");
  EXPECT_NE(text_of(root / "docs/adding-a-scheme.md").find("```cpp\n" + header + "```\n"),
            std::string::npos);
}

TEST(Schemes, AreNamedInTheirOwnFolderOnly) {
  const Names all = names();
  const std::regex named("(^|[^A-Za-z0-9_-])(" + joined(all.words) + ")($|[^A-Za-z0-9_-])|" +
                         "schemes::(" + joined(all.types) + ")\\b|(" + joined(all.headers) + ")");
  std::map<std::string, bool> used;
  for (const auto& entry : fs::recursive_directory_iterator(kSource)) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    const std::string path = fs::relative(entry.path(), kSource).string();
    if (path.starts_with("schemes/")) continue;
    const auto allowed = std::ranges::find_if(
        kMayName, [&](const auto& each) { return path.starts_with(each.first); });
    std::ifstream file(entry.path());
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      if (!std::regex_search(without_comment(line), named)) continue;
      EXPECT_NE(allowed, kMayName.end()) << path << ":" << number << " names a scheme:\n" << line;
      if (allowed != kMayName.end()) used[allowed->first] = true;
    }
  }
  for (const auto& [path, reason] : kMayName) {
    EXPECT_TRUE(used[path]) << path << " names no scheme; take it off the list (" << reason << ")";
  }
}

}  // namespace
}  // namespace residual
