#include "cli/evaluate/test_sets.h"

#include <functional>
#include <map>

#include "base/error.h"
#include "data/language_pair.h"
#include "data/prepared.h"
#include "metrics/read.h"

namespace residual::cli {
namespace {

using data::LanguagePair;
using Wanted = std::function<bool(const LanguagePair&)>;

std::vector<TestSet> prepared_tests(const fs::path& directory, const std::string& split,
                                    const Wanted& is_wanted) {
  const data::Manifest manifest = data::load_manifest(directory);
  std::vector<TestSet> tests;
  for (const auto& corpus : manifest.corpora) {
    const LanguagePair pair = {corpus.source, corpus.target};
    if (corpus.split != split || !is_wanted(pair)) continue;
    for (const auto& file : {corpus.source_text, corpus.target_text}) {
      data::check_listed(manifest, directory, file);
    }
    tests.push_back({pair, directory / corpus.source_text, {directory / corpus.target_text}});
  }
  require(!tests.empty(), "{}: has no {} corpus for these languages; `residual info` lists them",
          directory.string(), split);
  return tests;
}

std::vector<TestSet> folders_of_tests(const fs::path& directory, const std::string& split,
                                      const Wanted& is_wanted) {
  std::map<std::string, fs::path> folders;  // sorted by name
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() && name.find('-') != std::string::npos) folders[name] = entry.path();
  }
  std::vector<TestSet> tests;
  for (const auto& [name, folder] : folders) {
    const LanguagePair pair = data::parse_pair(name);
    const fs::path one = folder / (split + "." + pair.source),
                   other = folder / (split + "." + pair.target);
    if (!fs::exists(one) || !fs::exists(other)) continue;
    if (is_wanted(pair)) tests.push_back({pair, one, {other}});
    const LanguagePair reversed = {pair.target, pair.source};
    if (is_wanted(reversed)) tests.push_back({reversed, other, {one}});
  }
  require(!tests.empty(),
          "{}: has neither prepared.toml, which `residual prepare` writes, nor folders for these "
          "languages, such as de-en with {}.de and {}.en",
          directory.string(), split, split);
  return tests;
}

}  // namespace

std::vector<TestSet> test_sets_in(const fs::path& directory, const std::string& split,
                                  const std::string& source, const std::string& target) {
  const auto is_wanted = [&](const LanguagePair& pair) {
    return (source.empty() || pair.source == source) && (target.empty() || pair.target == target);
  };
  const bool is_raw = fs::is_directory(directory) && !fs::exists(directory / "prepared.toml");
  return is_raw ? folders_of_tests(directory, split, is_wanted)
                : prepared_tests(directory, split, is_wanted);
}

TestText read_test(const TestSet& test, text::Invalid invalid) {
  TestText read{.lines = metrics::read_lines(test.text, invalid), .references = {}};
  for (const auto& path : test.references) {
    read.references.push_back(metrics::read_lines(path, invalid));
    require(read.references.back().size() == read.lines.size(),
            "{} has {} lines, its reference {} has {}; both must have the same number of lines",
            test.text.string(), read.lines.size(), path.string(), read.references.back().size());
  }
  return read;
}

}  // namespace residual::cli
