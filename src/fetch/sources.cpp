#include "fetch/sources.h"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <tuple>

#include "base/error.h"
#include "base/suggest.h"
#include "fetch/download.h"

namespace residual::fetch {
namespace {

constexpr std::string_view kScratch = ".scratch";

uint64_t count_lines(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view bytes = file.bytes();
  const auto ends = static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  return ends + (!bytes.empty() && bytes.back() != '\n' ? 1 : 0);
}

// All files below a directory, by relative path.
std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) paths.push_back(fs::relative(entry.path(), directory));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// train.de and train.en are the two sides of the same lines.
void require_parallel(const std::vector<FetchedSet::File>& files) {
  for (size_t i = 1; i < files.size(); ++i) {
    const fs::path a = files[i - 1].path, b = files[i].path;
    const bool sides = a.parent_path() == b.parent_path() && a.stem() == b.stem();
    require(!sides || files[i - 1].lines == files[i].lines,
            "{} has {} lines, {} has {}: they are not parallel; is a download damaged?", a.string(),
            files[i - 1].lines, b.string(), files[i].lines);
  }
}

toml::array to_toml(const std::vector<std::string>& values) {
  toml::array out;
  for (const auto& value : values) out.push_back(value);
  return out;
}

}  // namespace

data::LanguagePair only_pair(const FetchOptions& options) {
  require(options.pairs.size() == 1, "{}: takes one --pair, got {}; run it once for each",
          options.source, options.pairs.size());
  return data::parse_pair(options.pairs.front());
}

data::LanguagePair only_pair(const FetchOptions& options, std::string_view a, std::string_view b) {
  data::LanguagePair pair = only_pair(options);
  const bool known =
      (pair.source == a && pair.target == b) || (pair.source == b && pair.target == a);
  require(known, "{}: has the languages {} and {} only, not {}", options.source, a, b, pair.name());
  return pair;
}

FetchedSet::FetchedSet(const FetchOptions& options)
    : options_(options), directory_(options.output, options.force, "source.toml") {}

fs::path FetchedSet::scratch() const {
  fs::path directory = path() / kScratch;
  fs::create_directories(directory);
  return directory;
}

void FetchedSet::came_from(const std::string& address, const fs::path& file) {
  origins_.push_back({address, file});
}

void FetchedSet::write(const Split& split, const std::string& first, const std::string& second) {
  const auto write_part = [&](const std::vector<SentencePair>& pairs, const char* name) {
    const std::string stem = path() / name;
    AtomicFile a(stem + "." + first), b(stem + "." + second);
    for (const SentencePair& pair : pairs) {
      a.write(pair.first + "\n");
      b.write(pair.second + "\n");
    }
    a.commit();
    b.commit();
  };
  write_part(split.train, "train");
  write_part(split.dev, "dev");
  write_part(split.test, "test");
}

std::vector<FetchedSet::File> FetchedSet::commit(std::string_view licence) {
  toml::table root{
      {"source", options_.source}, {"pairs", to_toml(options_.pairs)}, {"licence", licence}};
  if (options_.source == "debian") root.insert("collection", options_.collection);

  toml::array origins;
  std::vector<fs::path> paths;
  std::sort(origins_.begin(), origins_.end(), [](const Origin& a, const Origin& b) {
    return std::tie(a.address, a.file) < std::tie(b.address, b.file);
  });
  for (const Origin& origin : origins_) paths.push_back(origin.file);
  std::vector<std::string> sums = digests(paths);
  for (size_t i = 0; i < origins_.size(); ++i) {
    origins.push_back(toml::table{{"address", origins_[i].address},
                                  {"bytes", static_cast<int64_t>(fs::file_size(origins_[i].file))},
                                  {"digest", sums[i]}});
  }
  root.insert("origin", origins);

  fs::remove_all(path() / kScratch);
  std::vector<File> files;
  paths.clear();
  for (const fs::path& file : files_below(path())) {
    paths.push_back(path() / file);
    files.push_back({.path = file.string(), .lines = count_lines(paths.back())});
  }
  require_parallel(files);
  sums = digests(paths);
  toml::array written;
  for (size_t i = 0; i < files.size(); ++i) {
    written.push_back(toml::table{{"path", files[i].path},
                                  {"lines", static_cast<int64_t>(files[i].lines)},
                                  {"digest", sums[i]}});
  }
  root.insert("file", written);

  std::ostringstream text;
  text << "# Written by `residual fetch`.\n" << root << "\n";
  replace_file(path() / "source.toml", text.str());
  directory_.commit();
  return files;
}

std::span<const Source> sources() {
  static const std::vector<Source> all = {
      {.name = "debian",
       .summary = "descriptions of Debian's packages, or its programs' messages (--collection)",
       .languages = "English and any language Debian is translated to",
       .size = "10 MB for descriptions, 200 MB for the larger collections",
       .licence = "that of each package, in its copyright file",
       .pairs = {"en-de"},
       .fetch = fetch_debian},
      {.name = "iwslt14",
       .summary = "TED talks, the usual small benchmark; train and test",
       .languages = "de-en",
       .size = "20 MB",
       .licence = "CC BY-NC-ND (TED talks, through WIT3)",
       .pairs = {"de-en"},
       .fetch = fetch_iwslt14},
      {.name = "wmt14",
       .summary = "Europarl v7, Common Crawl, News Commentary v12; newstest2010 to 2016",
       .languages = "en-de",
       .size = "1.7 GB",
       .licence = "free for research; each corpus has its own terms at statmt.org",
       .pairs = {"en-de"},
       .fetch = fetch_wmt14},
      {.name = "wmt14-icml17",
       .summary = "the same with News Commentary v9, as in ConvS2S",
       .languages = "en-de",
       .size = "1.7 GB",
       .licence = "free for research; each corpus has its own terms at statmt.org",
       .pairs = {"en-de"},
       .fetch = fetch_wmt14_icml17},
      {.name = "opus100",
       .summary =
           "a sample of OPUS in 100 languages; one directory per pair, several --pair or all",
       .languages = "English and 99 others",
       .size = "not published; an archive per pair, or one of several GB for all",
       .licence = "that of each corpus in OPUS",
       .pairs = {"en-de"},
       .fetch = fetch_opus100},
      {.name = "generated",
       .summary = "sentences of a small grammar and of a made-up language; needs no network",
       .languages = "en-art",
       .size = "none",
       .licence = "none needed",
       .pairs = {"en-art"},
       .fetch = fetch_generated},
  };
  return all;
}

const Source& find_source(const std::string& name) {
  std::vector<std::string> names;
  for (const Source& source : sources()) {
    if (source.name == name) return source;
    names.emplace_back(source.name);
  }
  const std::string hint = suggestion(name, names);
  fail("unknown source \"{}\"{}", name,
       hint.empty() ? "; `residual fetch --list` shows all" : hint);
}

std::vector<FetchedSet::File> fetch(FetchOptions options) {
  const Source& source = find_source(options.source);
  if (options.pairs.empty()) options.pairs = source.pairs;
  if (!fs::exists(options.output)) require_writable(options.output);
  const fs::path within = fs::weakly_canonical(options.downloads)
                              .lexically_relative(fs::weakly_canonical(options.output));
  require(within.empty() || *within.begin() == "..",
          "{}: downloads are kept, so they cannot be inside the output {}",
          options.downloads.string(), options.output.string());
  options.downloads /= source.name;
  FetchedSet set(options);
  source.fetch(options, set);
  return set.commit(source.licence);
}

}  // namespace residual::fetch
