// What Debian translates: the descriptions of its packages, and its programs' messages.

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/suggest.h"
#include "fetch/apt.h"
#include "fetch/descriptions.h"
#include "fetch/download.h"
#include "fetch/gettext.h"
#include "fetch/sources.h"
#include "fetch/split.h"
#include "text/unicode.h"

namespace residual::fetch {
namespace {

using Indices = std::vector<PrivateApt::Index>;

// Of each language one file at least must be there; a machine's apt sources may have several.
void require_translations(const std::map<std::string, Indices>& wanted) {
  std::string languages, places;
  for (const auto& [language, files] : wanted) {
    if (std::any_of(files.begin(), files.end(),
                    [](const auto& file) { return fs::exists(file.path); })) {
      continue;
    }
    require(!files.empty(),
            "debian: this machine has no apt sources; pass --mirror http://deb.debian.org/debian");
    languages += fmt::format("{}Translation-{}", languages.empty() ? "" : " and no ", language);
    for (const auto& file : files) {
      places += fmt::format("\n  {} -> {}", file.address, file.path.string());
    }
  }
  require(places.empty(),
          "debian: the archive gave no {}; does Debian spell the language this way (as in pt_BR)? "
          "Without a network, get these files (.xz or .bz2) in another way, unpack each to "
          "where its arrow points, and run the same command again:{}",
          languages, places);
}

Descriptions read_language(const Indices& files, FetchedSet& set) {
  Descriptions descriptions;
  for (const PrivateApt::Index& file : files) {
    if (!fs::exists(file.path)) continue;
    read_descriptions(text::replace_invalid_utf8(read_file(file.path)), descriptions);
    set.came_from(file.address, file.path);
  }
  return descriptions;
}

std::vector<SentencePair> descriptions_pairs(PrivateApt& apt, const std::string& other,
                                             const FetchOptions& /*options*/, FetchedSet& set) {
  const std::map<std::string, Indices> files = {{"en", apt.translations("en")},
                                                {other, apt.translations(other)}};
  require_translations(files);
  const Descriptions english = read_language(files.at("en"), set);
  const Descriptions translated = read_language(files.at(other), set);
  log::info("{} descriptions in English, {} in {}", format_count(english.size()),
            format_count(translated.size()), other);
  return join_descriptions(english, translated);
}

// Programs and manuals with long messages in many languages; about 160 MB.
const std::vector<std::string> kPackages = {"aptitude",
                                            "binutils",
                                            "coreutils",
                                            "darktable",
                                            "debian-edu-doc",
                                            "dpkg",
                                            "findutils",
                                            "gettext",
                                            "git",
                                            "gnome-control-center",
                                            "gnucash",
                                            "gnumeric",
                                            "installation-guide",
                                            "kmymoney",
                                            "network-manager",
                                            "subversion",
                                            "util-linux"};

void read_catalogue(const fs::path& path, std::vector<SentencePair>& pairs) {
  const std::string text = read_file(path);
  if (text::find_invalid_utf8(text) != std::string::npos) {
    log::debug("{}: not UTF-8, skipped", path.filename().string());
    return;
  }
  std::vector<SentencePair> found;
  try {
    parse_catalogue(text, path.string(), [&](const Message& message) {
      for (SentencePair& pair : message_pairs(message)) found.push_back(std::move(pair));
    });
  } catch (const Error& error) {
    log::warn("skipped: {}", error.what());
    return;
  }
  std::move(found.begin(), found.end(), std::back_inserter(pairs));
}

// All catalogues of the language in source packages' archives.
std::vector<SentencePair> catalogue_pairs(const std::vector<RemoteFile>& files,
                                          const std::string& language, const FetchOptions& options,
                                          FetchedSet& set) {
  const auto archives =
      download(files, {.directory = options.downloads / "archives", .verify = options.verify});
  // po/de.po and de/help.po in one pattern; is_catalogue_of() is stricter.
  std::string pattern = "*/" + language + "[./]*po";
  if (const size_t at = pattern.find('_'); at != std::string::npos) pattern.replace(at, 1, "[_-]");
  std::vector<SentencePair> pairs;
  size_t catalogues = 0;
  for (size_t i = 0; i < archives.size(); ++i) {
    set.came_from(files[i].address, archives[i]);
    const fs::path scratch = set.scratch();
    extract(archives[i], scratch, {pattern}, Matches::optional);
    for (const auto& entry : fs::recursive_directory_iterator(scratch)) {
      const std::string name = fs::relative(entry.path(), scratch);
      if (entry.is_symlink() || !entry.is_regular_file() || !is_catalogue_of(name, language)) {
        continue;
      }
      read_catalogue(entry.path(), pairs);
      ++catalogues;
    }
    fs::remove_all(scratch);
  }
  require(catalogues > 0, "debian: no message catalogue of language {} in these packages",
          language);
  log::info("{} message catalogues in {}", format_count(catalogues), language);
  return pairs;
}

std::vector<SentencePair> gettext_pairs(PrivateApt& apt, const std::string& other,
                                        const FetchOptions& options, FetchedSet& set) {
  const bool our_choice = options.packages.empty();
  std::vector<RemoteFile> files;
  for (const auto& package : our_choice ? kPackages : options.packages) {
    try {
      for (RemoteFile& file : apt.source_archives(package)) files.push_back(std::move(file));
    } catch (const Error& error) {
      if (!our_choice) throw;
      log::warn("skipped: {}", error.what());  // releases differ in what they have
    }
  }
  return catalogue_pairs(files, other, options, set);
}

// Its translations are an archive of their own.
std::vector<SentencePair> libreoffice_pairs(PrivateApt& apt, const std::string& other,
                                            const FetchOptions& options, FetchedSet& set) {
  std::vector<RemoteFile> files = apt.source_archives("libreoffice");
  std::erase_if(files, [](const RemoteFile& file) {
    return file.name().find(".orig-translations.") == std::string::npos;
  });
  require(!files.empty(), "debian: this version of libreoffice has no archive of translations");
  return catalogue_pairs(files, other, options, set);
}

struct Collection {
  std::string name;
  std::vector<SentencePair> (*pairs)(PrivateApt& apt, const std::string& other,
                                     const FetchOptions& options, FetchedSet& set);
};

const Collection& collection(const std::string& name) {
  static const std::vector<Collection> all = {{"descriptions", descriptions_pairs},
                                              {"gettext", gettext_pairs},
                                              {"libreoffice", libreoffice_pairs}};
  std::vector<std::string> names;
  for (const Collection& each : all) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  fail("debian: unknown collection \"{}\"{}", name, suggestion(name, names));
}

}  // namespace

void fetch_debian(const FetchOptions& options, FetchedSet& set) {
  const data::LanguagePair pair = only_pair(options);
  require(pair.source == "en" || pair.target == "en",
          "debian: one side of the pair must be English (en), {} has none", pair.name());
  const std::string other = pair.source == "en" ? pair.target : pair.source;
  const Collection& chosen = collection(options.collection);
  PrivateApt apt(options.downloads / "apt", options.mirror, options.suite, other);

  std::vector<SentencePair> pairs = chosen.pairs(apt, other, options, set);
  const size_t all = pairs.size();
  const Split split = split_by_content(std::move(pairs), options.dev, options.test);
  log::info(
      "{} pairs, {} after removing duplicates, {} of them too similar to dev or test for train",
      format_count(all),
      format_count(split.train.size() + split.dev.size() + split.test.size() + split.overlapping),
      format_count(split.overlapping));
  set.write(split, "en", other);
}

}  // namespace residual::fetch
