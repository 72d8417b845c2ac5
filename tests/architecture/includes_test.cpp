// Who may include whom, by folder of src/. The table is the architecture: a change to it is a
// change of design.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "support/paths.h"

namespace residual {
namespace {

namespace fs = std::filesystem;

// Direct and indirect: a folder may include its own files and those named here.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"text", {"base"}},
    {"metrics", {"text", "base"}},
    {"data", {"text", "base"}},
    {"fetch", {"data", "text", "base"}},
    {"kernels", {"base"}},
    {"training_kernels", {"kernels", "base"}},
    {"schemes", {"kernels", "base"}},
    {"model", {"kernels", "schemes", "text", "base"}},
    {"interop", {"model", "kernels", "schemes", "text", "base"}},
    {"run", {"interop", "model", "schemes", "data", "text", "base"}},
    {"decode", {"schemes", "model", "kernels", "text", "base"}},
    {"api", {"decode", "model", "text", "base"}},
    {"report", {"base"}},
    {"drawing", {"report", "schemes", "kernels", "base"}},
    {"review", {"drawing", "report", "run", "model", "schemes", "base"}},
    {"ops", {"training_kernels", "kernels", "base"}},
    {"nn", {"ops", "schemes", "model", "kernels", "text", "base"}},
    {"train",
     {"review", "run", "nn", "ops", "decode", "metrics", "data", "schemes", "model", "kernels",
      "text", "base"}},
    {"mpi", {"train", "base"}},
    {"nccl", {"train", "base"}},
    {"probe",
     {"review", "report", "train", "run", "nn", "ops", "data", "schemes", "model", "text", "base"}},
    {"study",
     {"drawing", "report", "run", "decode", "metrics", "data", "schemes", "model", "text", "base"}},
    {"serve", {"decode", "report", "review", "model", "text", "base"}},
    {"doctor", {"run", "decode", "model", "kernels", "text", "base"}},
    {"cli",
     {"doctor", "serve", "study", "probe", "drawing", "review", "report", "train", "run", "decode",
      "metrics", "fetch", "data", "interop", "schemes", "model", "text", "base"}},
};

// LibTorch is slow to load and to compile against: only these may see it.
const std::set<std::string> kMaySeeTorch = {"ops", "nn", "train", "probe"};

struct Include {
  fs::path file;
  std::string folder;  // of src/ that the including file is in
  std::string target;
  bool quoted;
};

std::vector<Include> includes_of_tree() {
  static const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  const fs::path root = fs::path(test::source_tree()) / "src";
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    const std::string folder = *fs::relative(entry.path(), root).begin();
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, pattern)) continue;
      found.push_back({entry.path(), folder, match[2], match[1] == "\""});
    }
  }
  return found;
}

TEST(Includes, StayWithinTheArchitecture) {
  for (const auto& include : includes_of_tree()) {
    if (!include.quoted) continue;
    ASSERT_TRUE(kMayInclude.contains(include.folder)) << include.folder << " is not in the table";
    const std::string target = include.target.substr(0, include.target.find('/'));
    EXPECT_TRUE(target == include.folder || kMayInclude.at(include.folder).contains(target))
        << include.file << " includes " << include.target << ", which " << include.folder
        << " may not see";
  }
}

TEST(Includes, NameFilesOfTheProjectThatExist) {
  for (const auto& include : includes_of_tree()) {
    if (!include.quoted) continue;
    EXPECT_TRUE(fs::exists(fs::path(test::source_tree()) / "src" / include.target))
        << include.file << " includes \"" << include.target << "\"";
  }
}

TEST(Includes, KeepTorchOutOfTheTorchFreeFolders) {
  static const std::regex torch("^(torch|ATen|c10|caffe2)/");
  for (const auto& include : includes_of_tree()) {
    if (!std::regex_search(include.target, torch)) continue;
    EXPECT_TRUE(kMaySeeTorch.contains(include.folder))
        << include.file << " includes <" << include.target << ">";
  }
}

TEST(Includes, TheTableHasNoCycles) {
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const auto& other : allowed) {
      ASSERT_TRUE(kMayInclude.contains(other)) << other;
      EXPECT_FALSE(kMayInclude.at(other).contains(folder)) << folder << " <-> " << other;
    }
  }
}

}  // namespace
}  // namespace residual
