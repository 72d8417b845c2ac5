// What the pages say of the tree is true: links lead somewhere, names are where the page says, and
// the messages of docs/troubleshooting.md are those of the program.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"

namespace residual {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = test::source_tree();

std::string text_of(const fs::path& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

std::vector<fs::path> files_in(const fs::path& folder, const std::vector<std::string>& extensions) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (std::ranges::count(extensions, entry.path().extension().string()) > 0)
      found.push_back(entry.path());
  }
  return found;
}

std::vector<fs::path> pages() {
  auto found = files_in(kRoot / "docs", {".md"});
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  return found;
}

struct Line {
  int number;
  std::string text;
  std::string block;  // what stands behind the ``` of the block it is in; "" outside
};

std::vector<Line> lines_of(const fs::path& page) {
  std::ifstream file(page);
  std::vector<Line> lines;
  std::string block;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      block = block.empty() ? "```" + line.substr(3) : "";
    } else {
      lines.push_back({number, line, block});
    }
  }
  return lines;
}

struct Link {
  std::string where;  // "tour.md:17"
  std::string text;
  fs::path file;
  std::string section;  // behind #
};

// Links within the project; not those in code.
std::vector<Link> links_of(const fs::path& page) {
  static const std::regex pattern(R"(\[([^\]\[]*)\]\(([^)\s#]*)(?:#([^)\s]*))?\))");
  std::vector<Link> links;
  for (const auto& line : lines_of(page)) {
    if (!line.block.empty()) continue;
    const auto end = std::sregex_iterator();
    for (auto at = std::sregex_iterator(line.text.begin(), line.text.end(), pattern); at != end;
         ++at) {
      const auto begin = line.text.begin();
      const bool is_code = std::count(begin, begin + at->position(), '`') % 2 == 1;
      const std::string target = (*at)[2];
      if (is_code || target.find("://") != std::string::npos) continue;
      links.push_back({page.filename().string() + ":" + std::to_string(line.number), (*at)[1],
                       target.empty() ? page : page.parent_path() / target, (*at)[3]});
    }
  }
  return links;
}

// The name by which a heading can be linked: lower case, spaces as hyphens, no punctuation.
std::string section_name(const std::string& heading) {
  std::string name;
  for (const char c : heading.substr(heading.find_first_not_of("# "))) {
    if (c == ' ') name += '-';
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    if (stays) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

TEST(Links, LeadToFilesAndSectionsThatExist) {
  for (const auto& page : pages()) {
    for (const auto& link : links_of(page)) {
      SCOPED_TRACE(link.where);
      EXPECT_TRUE(fs::exists(link.file)) << link.file;
      if (link.section.empty() || !fs::exists(link.file)) continue;
      const auto is_it = [&](const Line& line) {
        return line.text.starts_with("#") && section_name(line.text) == link.section;
      };
      EXPECT_TRUE(std::ranges::any_of(lines_of(link.file), is_it)) << "no #" << link.section;
    }
  }
}

// [`Engine::decode`](../src/decode/engine.cpp): the file has the words Engine and decode.
TEST(Links, NameWhatIsInTheSourceTheyLeadTo) {
  static const std::regex word("[A-Za-z_][A-Za-z0-9_]*");
  int names = 0;
  for (const auto& page : pages()) {
    for (const auto& link : links_of(page)) {
      const auto extension = link.file.extension();
      const bool is_name = link.text.starts_with("`") && link.text.ends_with("`") &&
                           link.text != "`" + link.file.filename().string() + "`";
      if (!is_name || (extension != ".h" && extension != ".cpp")) continue;
      const std::string source = text_of(link.file);
      const auto end = std::sregex_iterator();
      for (auto at = std::sregex_iterator(link.text.begin(), link.text.end(), word); at != end;
           ++at, ++names) {
        EXPECT_TRUE(std::regex_search(source, std::regex("\\b" + at->str() + "\\b")))
            << link.where << ": " << link.file << " has no " << at->str();
      }
    }
  }
  EXPECT_GT(names, 100);
}

// Tables, code, and lines that are one long link may be wider.
TEST(Prose, IsWrappedAtAHundredColumns) {
  constexpr int kColumns = 100;
  const auto columns = [](const std::string& line) {  // characters, not bytes
    return std::ranges::count_if(line, [](unsigned char c) { return (c & 0xC0) != 0x80; });
  };
  for (const auto& page : pages()) {
    for (const auto& line : lines_of(page)) {
      const size_t begin = line.text.find_first_not_of(' ');
      const bool is_code = !line.block.empty() || line.text.starts_with("    ");
      if (is_code || begin == std::string::npos || line.text[begin] == '|') continue;
      const bool is_one_link = line.text.find(' ', begin + 2) == std::string::npos ||
                               line.text.compare(begin, 2, "![") == 0;
      if (is_one_link) continue;
      EXPECT_LE(columns(line.text), kColumns) << page.filename() << ":" << line.number;
    }
  }
}

// All sources, with literals that continue on the next line joined and quotes unescaped.
std::string program_text() {
  std::string all;
  for (const auto& file : files_in(kRoot / "src", {".h", ".cpp"})) all += text_of(file);
  for (const char* folder : {"scripts", "cmake"}) {
    for (const auto& entry : fs::directory_iterator(kRoot / folder)) all += text_of(entry.path());
  }
  std::string joined;
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t next = all.find_first_not_of(" \n", i + 1);
    if (all[i] == '"' && next > i + 1 && next < all.size() && all[next] == '"') {
      i = next;
    } else if (all[i] != '\\' || all[i + 1] != '"') {
      joined += all[i];
    }
  }
  return joined;
}

// A message with "…" where it has names and numbers: the parts between them.
std::vector<std::string> fixed_parts(std::string message) {
  for (const std::string prefix : {"residual: error: ", "residual: ", "warning: "}) {
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
  }
  for (int code = 1; code < 134; ++code) {  // the system's own words, behind ours
    const std::string reason = std::string(": ") + std::strerror(code);
    if (message.ends_with(reason)) message.erase(message.size() - reason.size());
  }
  const std::string dots = "…";
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find(dots, begin), message.size());
    const auto part = message.substr(begin, end - begin);
    const std::string edges = " :;,.()[]\"'`";
    const size_t first = part.find_first_not_of(edges);
    if (first != std::string::npos) {
      parts.push_back(part.substr(first, part.find_last_not_of(edges) + 1 - first));
    }
    begin = end + dots.size();
  }
  return parts;
}

// Messages stand in blocks that begin with ```message, a line each.
TEST(Troubleshooting, QuotesWhatTheProgramSays) {
  const std::string program = program_text();
  int messages = 0;
  for (const auto& line : lines_of(kRoot / "docs/troubleshooting.md")) {
    if (line.block != "```message") continue;
    ++messages;
    const auto parts = fixed_parts(line.text);
    const auto is_long = [](const std::string& part) { return part.size() >= 10; };
    EXPECT_TRUE(std::ranges::any_of(parts, is_long)) << line.number << ": says nothing";
    for (const auto& part : parts) {
      EXPECT_TRUE(program.find(part) != std::string::npos)
          << "troubleshooting.md:" << line.number << ": nothing says \"" << part << '"';
    }
  }
  EXPECT_GT(messages, 30);
}

}  // namespace
}  // namespace residual
