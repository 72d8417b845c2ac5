#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/language_pair.h"
#include "fetch/split.h"

// The sources of parallel text. Each source is one .cpp file and one row of sources().
namespace residual::fetch {

struct FetchOptions {
  std::string source;
  std::vector<std::string> pairs;  // "en-de"; empty: the source's default
  fs::path output;
  bool force = false;  // replace an existing output

  fs::path downloads;  // directory kept between runs
  std::string mirror;  // replaces scheme and host of addresses
  bool verify = true;  // check downloads whose size or digest is known

  // Used by sources without a published split.
  size_t dev = 2000, test = 2000;  // sentence pairs

  // Debian only.
  std::string collection = "descriptions";  // or "gettext" or "libreoffice"
  std::vector<std::string> packages;  // source packages for "gettext"; empty: the default list
  std::string suite = "stable";       // on the mirror, if one is given
};

// A data set under construction: a directory of plain text, one sentence per line, that appears
// complete or not at all, with a source.toml that records the origin of every file. The content
// does not depend on the time or the machine.
class FetchedSet {
 public:
  explicit FetchedSet(const FetchOptions& options);

  const fs::path& path() const { return directory_.path(); }
  // Returns a directory for temporary files, which is not part of the set.
  fs::path scratch() const;
  // Records an input file of the text.
  void came_from(const std::string& address, const fs::path& file);
  // Writes train, dev and test, each as two files that end in the languages' names.
  void write(const Split& split, const std::string& first, const std::string& second);

  struct File {
    std::string path;
    uint64_t lines;
  };
  // Checks that the sides of each pair have the same number of lines, writes source.toml, moves the
  // directory into place, and returns its files.
  std::vector<File> commit(std::string_view licence);

 private:
  struct Origin {
    std::string address;
    fs::path file;
  };

  FetchOptions options_;
  AtomicDirectory directory_;
  std::vector<Origin> origins_;
};

struct Source {
  std::string_view name;
  std::string_view summary;
  std::string_view languages;
  std::string_view size;
  std::string_view licence;
  std::vector<std::string> pairs;  // default pairs
  void (*fetch)(const FetchOptions& options, FetchedSet& set);
};

std::span<const Source> sources();
const Source& find_source(const std::string& name);  // throws an Error with a suggestion if unknown

// Fetches from the network, or from files put by hand into options.downloads, to options.output.
std::vector<FetchedSet::File> fetch(FetchOptions options);

void fetch_debian(const FetchOptions& options, FetchedSet& set);
void fetch_iwslt14(const FetchOptions& options, FetchedSet& set);
void fetch_wmt14(const FetchOptions& options, FetchedSet& set);
void fetch_wmt14_icml17(const FetchOptions& options, FetchedSet& set);
void fetch_opus100(const FetchOptions& options, FetchedSet& set);
void fetch_generated(const FetchOptions& options, FetchedSet& set);

// Returns the only requested pair. Throws an Error if there are several, or if the pair does not
// consist of languages `a` and `b`, in either order.
data::LanguagePair only_pair(const FetchOptions& options);
data::LanguagePair only_pair(const FetchOptions& options, std::string_view a, std::string_view b);

}  // namespace residual::fetch
