// The shape of the tree: folders that can be read at a glance, and tests where one looks for them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "support/paths.h"

namespace residual {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = test::source_tree();

constexpr int64_t kMostFiles = 40;

// Folders of tests/ that test no folder of src/, or hold what the others share.
const std::set<std::string> kOtherTests = {"architecture", "ecosystem", "fixtures", "package",
                                           "python",       "support",   "web"};

// Tests of src/X/Y lie in tests/X/Y_test.cpp. These test several files together, by subject.
const std::set<std::string> kBySubject = {
    "api/api_test.cpp",                   // residual.h, as C and C++ programs see it
    "cli/artifacts_test.cpp",             // what commands write, read by others of them
    "cli/docs_test.cpp",                  // the commands of the pages
    "cli/faults_test.cpp",                // commands whose file operations fail
    "cli/kills_test.cpp",                 // commands that are killed
    "decode/blocks_test.cpp",             // kinds of blocks in the engine
    "decode/language_test.cpp",           // language and masked models in the engine
    "decode/text_model_test.cpp",         // generation, scores and vectors of text
    "interop/decode_fairseq_test.cpp",    // imported models, decoded
    "interop/decode_hf_test.cpp",         //
    "interop/decode_marian_hf_test.cpp",  //
    "interop/decode_marian_test.cpp",     //
    "metrics/fixture_test.cpp",           // sacreBLEU's scores of all metrics
    "nn/engine_test.cpp",                 // the engine against training
    "nn/fairseq_test.cpp",                // the Transformer against fairseq's
    "nn/gradient_test.cpp",               //
    "ops/models_test.cpp",                // whole models with fused and plain operators
    "run/recipes_test.cpp",               // the recipes that are shipped
    "schemes/authors_test.cpp",           // schemes against their authors' code
    "schemes/recent_test.cpp",            // identities of the schemes since 2023
    "schemes/sandwich_test.cpp",          // a scheme from outside src/schemes
    "schemes/schemes_test.cpp",           // properties that every scheme has
    "study/command_test.cpp",             // `residual study`
    "study/damage_test.cpp",              // changed bytes in everything that commands read
    "train/distributed_test.cpp",         // runs on several processes
    "train/half_test.cpp",                // in 16 bits
    "train/resume_test.cpp",              // interrupted and continued
};

TEST(Tree, NoFolderOfSourcesIsCrowded) {
  std::set<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src")) {
    if (entry.is_directory()) folders.insert(entry.path());
  }
  EXPECT_GT(folders.size(), 15u);
  for (const auto& folder : folders) {
    const auto is_file = [](const fs::directory_entry& entry) { return entry.is_regular_file(); };
    const int64_t files =
        std::count_if(fs::directory_iterator(folder), fs::directory_iterator(), is_file);
    EXPECT_LE(files, kMostFiles) << folder << ": split it by subject";
  }
}

TEST(Tree, EveryFolderSaysWhatItIs) {
  for (const auto& entry : fs::directory_iterator(kRoot / "src")) {
    if (!entry.is_directory()) continue;
    std::ifstream file(entry.path() / "CMakeLists.txt");
    std::string line;
    std::getline(file, line);
    EXPECT_TRUE(line.starts_with("# "))
        << entry.path() << "/CMakeLists.txt: begins with no comment";
  }
}

TEST(Tree, TestsMirrorTheSources) {
  for (const auto& folder : fs::directory_iterator(kRoot / "tests")) {
    const std::string name = folder.path().filename();
    if (!folder.is_directory() || kOtherTests.contains(name)) continue;
    const fs::path sources = kRoot / "src" / name;
    ASSERT_TRUE(fs::exists(sources)) << "tests/" << name << " has no folder of src/";
    std::set<std::string> stems;  // also those of its subfolders
    for (const auto& entry : fs::recursive_directory_iterator(sources)) {
      stems.insert(entry.path().stem());
    }
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename();
      const std::string suffix = "_test.cpp";
      if (!file.ends_with(suffix) || kBySubject.contains(name + "/" + file)) continue;
      const std::string stem = file.substr(0, file.size() - suffix.size());
      EXPECT_TRUE(stems.contains(stem))
          << "tests/" << name << "/" << file << " tests no file of src/" << name;
    }
  }
}

}  // namespace
}  // namespace residual
