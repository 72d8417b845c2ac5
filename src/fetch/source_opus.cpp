// OPUS-100 (Zhang et al. 2020): ready-made train, dev and test for 99 languages with English.

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "fetch/download.h"
#include "fetch/sources.h"

namespace residual::fetch {
namespace {

const std::string kBase = "https://object.pouta.csc.fi/OPUS-100/v1.0/opus-100-corpus-";
// Text compresses to a third or so.
constexpr uint64_t kUnpacked = 4;
const fs::path kSupervised = "opus-100-corpus/v1.0/supervised";
// Test sets of pairs without English, such as ar-de. The name of their folder here has no hyphen,
// which would make it a language pair to `residual prepare`.
const fs::path kZeroShot = "opus-100-corpus/v1.0/zero-shot";
constexpr const char* kZeroShotFolder = "zeroshot";

// The corpus names a pair by its languages in alphabetical order.
std::string stored_name(const data::LanguagePair& pair) {
  return std::min(pair.source, pair.target) + "-" + std::max(pair.source, pair.target);
}

// Five of the languages (an, dz, hy, mn, yo) have training text only.
void move_pair(const fs::path& unpacked, const data::LanguagePair& pair, const fs::path& to) {
  const std::string stored = stored_name(pair);
  fs::create_directories(to);
  for (const std::string part : {"train", "dev", "test"}) {
    for (const std::string& language : {pair.source, pair.target}) {
      const fs::path from =
          unpacked / kSupervised / stored / fmt::format("opus.{}-{}.{}", stored, part, language);
      if (fs::exists(from)) {
        fs::rename(from, to / fmt::format("{}.{}", part, language));
      } else {
        require(part != "train", "opus100: the archive has no {}; is it complete?",
                from.filename().string());
        log::warn("opus100: {} has no {} text", pair.name(), part);
        break;
      }
    }
  }
}

void move_zero_shot(const fs::path& unpacked, const fs::path& to) {
  if (!fs::exists(unpacked / kZeroShot)) return;
  for (const auto& entry : fs::directory_iterator(unpacked / kZeroShot)) {
    const std::string stored = entry.path().filename();
    const data::LanguagePair pair = data::parse_pair(stored);
    fs::create_directories(to / stored);
    for (const std::string& language : {pair.source, pair.target}) {
      fs::rename(entry.path() / fmt::format("opus.{}-test.{}", stored, language),
                 to / stored / ("test." + language));
    }
  }
}

void fetch_all_pairs(const FetchOptions& options, FetchedSet& set) {
  const RemoteFile file{.address = kBase + "v1.0.tar.gz"};
  const fs::path archive =
      download({file}, {.directory = options.downloads, .mirror = options.mirror}).front();
  set.came_from(file.address, archive);
  require_disk_space(set.path(), kUnpacked * fs::file_size(archive));
  const fs::path scratch = set.scratch();
  extract(archive, scratch, {"*" + kSupervised.parent_path().string() + "/*"});
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch / kSupervised)) {
    names.insert(entry.path().filename());
  }
  for (const std::string& name : names) {
    data::LanguagePair pair = data::parse_pair(name);
    if (pair.target == "en") std::swap(pair.source, pair.target);
    move_pair(scratch, pair, set.path() / pair.name());
  }
  move_zero_shot(scratch, set.path() / kZeroShotFolder);
}

}  // namespace

void fetch_opus100(const FetchOptions& options, FetchedSet& set) {
  if (options.pairs == std::vector<std::string>{"all"}) return fetch_all_pairs(options, set);

  std::vector<data::LanguagePair> pairs;
  std::vector<RemoteFile> files;
  for (const std::string& text : options.pairs) {
    pairs.push_back(data::parse_pair(text));
    const data::LanguagePair& pair = pairs.back();
    require(pair.source == "en" || pair.target == "en",
            "opus100: every pair has English on one side; {} does not", pair.name());
    for (size_t i = 0; i + 1 < pairs.size(); ++i) {
      require(stored_name(pairs[i]) != stored_name(pair), "opus100: {} and {} are the same text",
              pairs[i].name(), pair.name());
    }
    files.push_back({.address = kBase + stored_name(pair) + "-v1.0.tar.gz"});
  }
  const std::vector<fs::path> archives =
      download(files, {.directory = options.downloads, .mirror = options.mirror});
  for (size_t i = 0; i < pairs.size(); ++i) {
    set.came_from(files[i].address, archives[i]);
    require_disk_space(set.path(), kUnpacked * fs::file_size(archives[i]));
    const fs::path scratch = set.scratch();
    extract(archives[i], scratch, {"*/" + stored_name(pairs[i]) + "/opus.*"});
    move_pair(scratch, pairs[i], set.path() / pairs[i].name());
    fs::remove_all(scratch);
  }
}

}  // namespace residual::fetch
