#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/language_pair.h"
#include "fetch/split.h"

// Where parallel text comes from. Each source is one .cpp file and one row of sources().
namespace residual::fetch {

struct FetchOptions {
  std::string source;
  std::vector<std::string> pairs;  // "en-de"; empty: the source's own
  fs::path output;
  bool force = false;  // replace an output that exists

  fs::path downloads;  // kept from one run to the next
  std::string mirror;  // replaces scheme and host of addresses
  bool verify = true;  // downloads, where size or digest is known

  // Where the split is ours.
  size_t dev = 2000, test = 2000;  // sentence pairs

  // Debian only.
  std::string collection = "descriptions";  // or "gettext" or "libreoffice"
  std::vector<std::string> packages;        // source packages for "gettext"; empty: our choice
  std::string suite = "stable";             // on the mirror, if one is given
};

// A fetched set while it is made: a directory of plain text, one sentence per line, that appears
// whole or not at all, with a source.toml that says where everything came from. Nothing in it
// depends on the time or the machine: the same bytes in, the same bytes out.
class FetchedSet {
 public:
  explicit FetchedSet(const FetchOptions& options);

  const fs::path& path() const { return directory_.path(); }
  // A directory for files on their way; it is not part of the set.
  fs::path scratch() const;
  // Records a file that the text was made from.
  void came_from(const std::string& address, const fs::path& file);
  // train, dev and test, each as two files that end in the languages' names.
  void write(const Split& split, const std::string& first, const std::string& second);

  struct File {
    std::string path;
    uint64_t lines;
  };
  // Checks that the sides of each pair have equally many lines, writes source.toml and puts the
  // directory in its place. Returns what is in it.
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
  std::vector<std::string> pairs;  // unless others are asked for
  void (*fetch)(const FetchOptions& options, FetchedSet& set);
};

std::span<const Source> sources();
const Source& find_source(const std::string& name);  // an Error with a suggestion if there is none

// From the network, or from files put by hand into options.downloads, to options.output.
std::vector<FetchedSet::File> fetch(FetchOptions options);

void fetch_debian(const FetchOptions& options, FetchedSet& set);
void fetch_iwslt14(const FetchOptions& options, FetchedSet& set);
void fetch_wmt14(const FetchOptions& options, FetchedSet& set);
void fetch_wmt14_icml17(const FetchOptions& options, FetchedSet& set);
void fetch_opus100(const FetchOptions& options, FetchedSet& set);
void fetch_generated(const FetchOptions& options, FetchedSet& set);

// The only pair asked for; fails if there are several, or if it is not made of languages `a` and
// `b`, in either order.
data::LanguagePair only_pair(const FetchOptions& options);
data::LanguagePair only_pair(const FetchOptions& options, std::string_view a, std::string_view b);

}  // namespace residual::fetch
