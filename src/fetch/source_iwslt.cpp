// IWSLT 2014 German-English as fairseq's prepare-iwslt14.sh reads it, before tokenisation.

#include <array>

#include "base/error.h"
#include "fetch/download.h"
#include "fetch/markup.h"
#include "fetch/sources.h"
#include "text/lines.h"

namespace residual::fetch {
namespace {

// The size is what several published logs of that script show; no digest is published.
const RemoteFile kArchive = {
    .address = "http://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz", .bytes = 19982877};

// The unpacked files, and the same again for the text made from them.
constexpr uint64_t kDiskBytes = 150'000'000;

constexpr std::array kTestParts = {"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011",
                                   "TED.tst2012"};

// Talks' headers: some lines are about the talk, some are text with a tag around it.
void write_train(const fs::path& input, const fs::path& output) {
  AtomicFile file(output);
  text::for_each_line(input, text::Invalid::refuse, [&](std::string_view line, uint64_t) {
    for (const std::string_view tag : {"<url>", "<talkid>", "<keywords>"}) {
      if (line.find(tag) != std::string_view::npos) return;
    }
    std::string text(line);
    for (const std::string_view tag : {"<title>", "</title>", "<description>", "</description>"}) {
      remove_all(text, tag);
    }
    file.write(text + "\n");
  });
  file.commit();
}

}  // namespace

void fetch_iwslt14(const FetchOptions& options, FetchedSet& set) {
  only_pair(options, "de", "en");
  require_disk_space(set.path(), kDiskBytes);
  const fs::path archive =
      download({kArchive},
               {.directory = options.downloads, .mirror = options.mirror, .verify = options.verify})
          .front();
  set.came_from(kArchive.address, archive);
  const fs::path scratch = set.scratch();
  extract(archive, scratch, {"*de-en/train.tags.de-en.*", "*de-en/IWSLT14.TED*.de-en.*.xml"});
  const fs::path directory = scratch / "de-en";
  for (const std::string language : {"de", "en"}) {
    write_train(directory / ("train.tags.de-en." + language), set.path() / ("train." + language));
    std::vector<fs::path> parts;
    for (const char* part : kTestParts) {
      parts.push_back(directory / fmt::format("IWSLT14.{}.de-en.{}.xml", part, language));
    }
    // This text is decoded and scored, and the recipe's straightening of apostrophes does not reach
    // it.
    write_segments(parts, set.path() / ("test." + language), Apostrophes::straight);
  }
}

}  // namespace residual::fetch
