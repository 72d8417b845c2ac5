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
// wmt17_translate.txt; that of the test set: sacreBLEU's table of data sets.
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
const RemoteFile kTest = {.address = "http://statmt.org/wmt14/test-full.tgz",
                          .digest = "md5:a8cd784e006feb32ac6f3d9ec7eb389a"};

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

void fetch_wmt(const FetchOptions& options, FetchedSet& set, const std::vector<Corpus>& corpora) {
  only_pair(options, "en", "de");
  std::vector<RemoteFile> files;
  for (const Corpus& corpus : corpora) files.push_back(corpus.archive);
  files.push_back(kTest);
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

  extract(archives.back(), scratch, {"*newstest2014-deen-*.sgm"});
  const fs::path tests = scratch / "test-full";
  write_segments({tests / "newstest2014-deen-src.en.sgm"}, set.path() / "test.en");
  write_segments({tests / "newstest2014-deen-ref.de.sgm"}, set.path() / "test.de");
}

}  // namespace

void fetch_wmt14(const FetchOptions& options, FetchedSet& set) {
  fetch_wmt(options, set, {kEuroparl, kCommonCrawl, kNews12});
}

void fetch_wmt14_icml17(const FetchOptions& options, FetchedSet& set) {
  fetch_wmt(options, set, {kEuroparl, kCommonCrawl, kNews9});
}

}  // namespace residual::fetch
