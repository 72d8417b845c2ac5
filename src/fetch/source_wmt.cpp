// WMT 2014 English-German as fairseq's prepare-wmt14en2de.sh puts it together, before
// normalisation and tokenisation.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/progress.h"
#include "fetch/download.h"
#include "fetch/markup.h"
#include "fetch/sources.h"

namespace residual::fetch {
namespace {

struct Corpus {
  RemoteFile archive;
  std::string stem;  // of its two files inside the archive
};

// Sizes and digests: TensorFlow Datasets' url_checksums/wmt14_translate.txt and
// wmt17_translate.txt; those of the test sets: sacreBLEU's table of data sets.
const Corpus kEuroparl = {
    {.address = "http://statmt.org/wmt13/training-parallel-europarl-v7.tgz",
     .bytes = 657632379,
     .digest = "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7"},
    "training/europarl-v7.de-en"};
const Corpus kCommonCrawl = {
    {.address = "http://statmt.org/wmt13/training-parallel-commoncrawl.tgz",
     .bytes = 918311367,
     .digest = "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5"},
    "commoncrawl.de-en"};
const Corpus kNews12 = {
    {.address = "http://data.statmt.org/wmt17/translation-task/training-parallel-nc-v12.tgz",
     .bytes = 168591139,
     .digest = "sha256:2b45f30ef1d550d302fd17dd3a5cbe19134ccc4c2cf50c2dae534aee600101a2"},
    "training/news-commentary-v12.de-en"};
const Corpus kNews9 = {
    {.address = "http://statmt.org/wmt14/training-parallel-nc-v9.tgz",
     .bytes = 80418416,
     .digest = "sha256:cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485"},
    "training/news-commentary-v9.de-en"};

// A test set: its archive, and the files of both sides in it. Before 2014 the German side was a
// source of its own, of which English was one translation.
struct News {
  std::string year;
  RemoteFile archive;
  std::string english, german;
};

const std::vector<News>& news() {
  static const std::vector<News> sets = [] {
    const auto test = [](const std::string& year, const std::string& directory,
                         const std::string& md5) -> RemoteFile {
      return {.address = "http://" + directory + "/test.tgz",
              .digest = "md5:" + md5,
              .stored_as = "newstest" + year + ".tgz"};
    };
    return std::vector<News>{
        {"2010", test("2010", "statmt.org/wmt10", "491cb885a355da5a23ea66e7b3024d5c"),
         "newstest2010-src.en.sgm", "newstest2010-src.de.sgm"},
        {"2011", test("2011", "statmt.org/wmt11", "b0c9680adf32d394aefc2b24e3a5937e"),
         "newstest2011-src.en.sgm", "newstest2011-src.de.sgm"},
        {"2012", test("2012", "statmt.org/wmt12", "608232d34ebc4ba2ff70fead45674e47"),
         "newstest2012-src.en.sgm", "newstest2012-src.de.sgm"},
        {"2013", test("2013", "statmt.org/wmt13", "48eca5d02f637af44e85186847141f67"),
         "newstest2013-src.en.sgm", "newstest2013-src.de.sgm"},
        {"2014",
         {.address = "http://statmt.org/wmt14/test-full.tgz",
          .digest = "md5:a8cd784e006feb32ac6f3d9ec7eb389a"},
         "newstest2014-deen-src.en.sgm",
         "newstest2014-deen-ref.de.sgm"},
        {"2015", test("2015", "statmt.org/wmt15", "67e3beca15e69fe3d36de149da0a96df"),
         "newstest2015-ende-src.en.sgm", "newstest2015-ende-ref.de.sgm"},
        {"2016",
         test("2016", "data.statmt.org/wmt16/translation-task", "3d809cd0c2c86adb2c67034d15c4e446"),
         "newstest2016-ende-src.en.sgm", "newstest2016-ende-ref.de.sgm"}};
  }();
  return sets;
}

// What one archive's two sides of German and English and the text made of all of them take, for
// each byte of the archives, rounded up: they hold other languages too, compressed.
constexpr uint64_t kDiskFactor = 2;

// Byte for byte, but a last line without an end gets one.
void append(const fs::path& input, AtomicFile& output) {
  const int file = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(input, "cannot open");
  std::string buffer(1 << 20, '\0');
  char last = '\n';
  ssize_t n = 0;
  try {
    while ((n = ::read(file, buffer.data(), buffer.size())) != 0) {
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_errno(input, "cannot read");
      output.write({buffer.data(), static_cast<size_t>(n)});
      last = buffer[static_cast<size_t>(n) - 1];
    }
    if (last != '\n') output.write("\n");
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
}

// Writes newstest2010.en, newstest2010.de ...; that of 2014 is called test.
void write_tests(const std::vector<fs::path>& archives, FetchedSet& set) {
  for (size_t i = 0; i < news().size(); ++i) {
    const auto& [year, archive, english, german] = news()[i];
    const fs::path scratch = set.scratch() / year;
    fs::create_directories(scratch);
    extract(archives[i], scratch, {"*" + english, "*" + german});
    const std::string name = year == "2014" ? "test" : "newstest" + year;
    for (const auto& entry : fs::recursive_directory_iterator(scratch)) {
      if (entry.path().filename() == english) {
        write_segments({entry.path()}, set.path() / (name + ".en"));
      } else if (entry.path().filename() == german) {
        write_segments({entry.path()}, set.path() / (name + ".de"));
      }
    }
  }
}

void fetch_wmt(const FetchOptions& options, FetchedSet& set, const std::vector<Corpus>& corpora) {
  only_pair(options, "en", "de");
  std::vector<RemoteFile> files;
  for (const Corpus& corpus : corpora) files.push_back(corpus.archive);
  for (const News& test : news()) files.push_back(test.archive);
  const std::vector<fs::path> archives = download(
      files, {.directory = options.downloads, .mirror = options.mirror, .verify = options.verify});
  uint64_t bytes = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    set.came_from(files[i].address, archives[i]);
    bytes += fs::file_size(archives[i]);
  }
  require_disk_space(set.path(), kDiskFactor * bytes);

  const fs::path scratch = set.scratch();
  Progress progress("joining training text", corpora.size(), "corpora");
  AtomicFile english(set.path() / "train.en"), german(set.path() / "train.de");
  for (size_t i = 0; i < corpora.size(); ++i) {
    const fs::path stem = scratch / corpora[i].stem;
    extract(archives[i], scratch, {"*" + corpora[i].stem + ".en", "*" + corpora[i].stem + ".de"});
    append(stem.string() + ".en", english);
    append(stem.string() + ".de", german);
    fs::remove(stem.string() + ".en");
    fs::remove(stem.string() + ".de");
    progress.add();
  }
  english.commit();
  german.commit();
  progress.finish();

  write_tests({archives.begin() + static_cast<std::ptrdiff_t>(corpora.size()), archives.end()},
              set);
}

}  // namespace

void fetch_wmt14(const FetchOptions& options, FetchedSet& set) {
  fetch_wmt(options, set, {kEuroparl, kCommonCrawl, kNews12});
}

void fetch_wmt14_icml17(const FetchOptions& options, FetchedSet& set) {
  fetch_wmt(options, set, {kEuroparl, kCommonCrawl, kNews9});
}

}  // namespace residual::fetch
