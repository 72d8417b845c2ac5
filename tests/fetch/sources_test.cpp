#include "fetch/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "base/progress.h"
#include "fetch/download.h"
#include "support/temporary.h"

namespace residual::fetch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::set<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

// A mirror in a directory: small archives of the same layout as the published ones.
class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    log::set_level(log::Level::off);
    Progress::set_quiet(true);
    if (run_process({"curl", "--version"}).exit_code != 0) GTEST_SKIP() << "needs curl";
  }
  void TearDown() override {
    log::set_level(log::Level::info);
    Progress::set_quiet(false);
  }

  void put(const std::string& path, const std::string& content) {
    fs::create_directories((here_ / path).parent_path());
    replace_file(here_ / path, content);
  }

  // Packs what is below `directory` and leaves it at `archive` on the mirror.
  void pack(const std::string& directory, const std::string& archive) {
    const fs::path path = here_ / ("mirror/" + archive);
    fs::create_directories(path.parent_path());
    std::vector<std::string> command = {"tar", "-czf", path, "-C", here_ / directory};
    for (const auto& entry : fs::directory_iterator(here_ / directory)) {
      command.push_back(entry.path().filename());
    }
    ASSERT_EQ(run_process(command).exit_code, 0);
  }

  FetchOptions options(const std::string& source) const {
    return {.source = source,
            .output = here_ / "out",
            .downloads = here_ / "downloads",
            .mirror = "file://" + (here_ / "mirror").string(),
            .verify = false};
  }

  std::string error_of(const FetchOptions& options) {
    try {
      fetch(options);
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(options.output)) << "an error left an output behind";
      return error.what();
    }
    return "no error";
  }

  std::string out(const std::string& path) const { return read_file(here_ / ("out/" + path)); }

  const test::TemporaryDirectory here_;
};

class Iwslt14 : public Fetch {
 protected:
  void SetUp() override {
    Fetch::SetUp();
    for (const std::string language : {"de", "en"}) {
      put("in/de-en/train.tags.de-en." + language,
          "<url>http://x</url>\n<keywords>a, b</keywords>\n<talkid>1</talkid>\n"
          "<title>Title " +
              language +
              "</title>\n<description>About </description>\n"
              " First sentence. \nno end " +
              language);
      for (const std::string part :
           {"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"}) {
        put("in/de-en/IWSLT14." + part + ".de-en." + language + ".xml",
            "<doc>\n<seg id=\"1\"> " + part + " " + language + "\u2019s </seg>\n</doc>\n");
      }
    }
    pack("in", "fairseq/data/iwslt14/de-en.tgz");
  }
};

TEST_F(Iwslt14, IsTheTextTheUsualScriptTokenises) {
  fetch(options("iwslt14"));
  EXPECT_EQ(out("train.de"), "Title de\nAbout \n First sentence. \nno end de\n");
  EXPECT_EQ(out("test.en"),
            "TED.dev2010 en's\nTEDX.dev2012 en's\nTED.tst2010 en's\nTED.tst2011 en's\n"
            "TED.tst2012 en's\n");
  EXPECT_FALSE(fs::exists(here_ / "out/dev.de"));
}

TEST_F(Iwslt14, SourceTomlSaysWhereEverythingCameFromAndIsTheSameEveryTime) {
  fetch(options("iwslt14"));
  const std::string text = out("source.toml");
  const toml::table table = toml::parse(text);
  EXPECT_EQ(table["source"].value_or(""), std::string("iwslt14"));
  EXPECT_EQ(table["origin"][0]["address"].value_or(""),
            std::string("http://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz"));
  EXPECT_EQ(table["origin"][0]["digest"].value_or(""),
            digests({here_ / "downloads/iwslt14/de-en.tgz"})[0]);
  ASSERT_EQ(table["file"].as_array()->size(), 4u);
  EXPECT_EQ(table["file"][0]["path"].value_or(""), std::string("test.de"));
  EXPECT_EQ(table["file"][0]["lines"].value_or(0), 5);
  EXPECT_EQ(table["file"][0]["digest"].value_or(""), digests({here_ / "out/test.de"})[0]);

  FetchOptions again = options("iwslt14");
  again.force = true;
  fetch(again);
  EXPECT_EQ(out("source.toml"), text);
}

TEST_F(Iwslt14, AnExistingOutputIsReplacedOnlyWithForceAndIfItIsAFetchedSet) {
  put("out/mine", "precious");
  EXPECT_THROW(fetch(options("iwslt14")), Error);
  EXPECT_EQ(out("mine"), "precious");
  FetchOptions forced = options("iwslt14");
  forced.force = true;
  EXPECT_THROW(fetch(forced), Error);
  EXPECT_EQ(out("mine"), "precious");
  put("out/source.toml", "");
  fetch(forced);
  EXPECT_FALSE(fs::exists(here_ / "out/mine"));
}

TEST_F(Iwslt14, WithoutNetworkTheSameCommandGoesOnFromAFilePutByHand) {
  fs::rename(here_ / "mirror/fairseq/data/iwslt14/de-en.tgz", here_ / "by-hand.tgz");
  EXPECT_THAT(error_of(options("iwslt14")), HasSubstr("downloads/iwslt14/de-en.tgz (19,982,877"));
  fs::create_directories(here_ / "downloads/iwslt14");
  fs::rename(here_ / "by-hand.tgz", here_ / "downloads/iwslt14/de-en.tgz");
  EXPECT_EQ(error_of(options("iwslt14")), "no error");
}

TEST_F(Iwslt14, ADamagedArchiveIsAnError) {
  put("downloads/iwslt14/de-en.tgz", "not an archive");
  EXPECT_THAT(error_of(options("iwslt14")), HasSubstr("de-en.tgz: cannot unpack it"));
  FetchOptions checked = options("iwslt14");
  checked.verify = true;
  EXPECT_THAT(error_of(checked), HasSubstr("expected 19982877 bytes, got 14"));
}

TEST_F(Iwslt14, SidesOfDifferentLengthAreAnError) {
  put("in/de-en/train.tags.de-en.de", "one\ntwo\n");
  pack("in", "fairseq/data/iwslt14/de-en.tgz");
  EXPECT_THAT(error_of(options("iwslt14")),
              HasSubstr("train.de has 2 lines, train.en has 4: they are not parallel"));
}

TEST_F(Iwslt14, OtherLanguagesAndSeveralPairsAreErrors) {
  FetchOptions wrong = options("iwslt14");
  wrong.pairs = {"en-fr"};
  EXPECT_THAT(error_of(wrong), HasSubstr("the languages de and en only, not en-fr"));
  wrong.pairs = {"en-de", "de-en"};
  EXPECT_THAT(error_of(wrong), HasSubstr("takes one --pair, got 2"));
}

TEST_F(Fetch, Wmt14JoinsCorporaInTheScriptsOrder) {
  for (const std::string language : {"de", "en"}) {
    put("europarl/training/europarl-v7.de-en." + language, "europarl " + language);
    put("europarl/training/europarl-v7.fr-en." + language, "not this\n");
    put("crawl/commoncrawl.de-en." + language, "crawl\r\n\xff\n");
    put("news/training/news-commentary-v12.de-en." + language, "news\n");
    put("test/test-full/newstest2014-deen-src." + language + ".sgm",
        "<seg id=\"1\">source " + language + "\u2019s</seg>\n");
    put("test/test-full/newstest2014-deen-ref." + language + ".sgm",
        "<seg id=\"1\">reference " + language + "\u2019s</seg>\n");
  }
  pack("europarl", "wmt13/training-parallel-europarl-v7.tgz");
  pack("crawl", "wmt13/training-parallel-commoncrawl.tgz");
  pack("news", "wmt17/translation-task/training-parallel-nc-v12.tgz");
  pack("test", "wmt14/test-full.tgz");
  for (const std::string year : {"10", "11", "12", "13"}) {
    for (const std::string language : {"de", "en"}) {  // wmt11's archive has no folder
      put("news" + year + (year == "11" ? "/" : "/test/") + "newstest20" + year + "-src." +
              language + ".sgm",
          "<seg id=\"1\">20" + year + " " + language + "</seg>\n");
    }
    pack("news" + year, "wmt" + year + "/test.tgz");
  }
  for (const std::string year : {"15", "16"}) {
    put("news" + year + "/test/newstest20" + year + "-ende-src.en.sgm", "<seg id=\"1\">en</seg>\n");
    put("news" + year + "/test/newstest20" + year + "-ende-ref.de.sgm", "<seg id=\"1\">de</seg>\n");
    put("news" + year + "/test/newstest20" + year + "-deen-ref.en.sgm", "<seg id=\"1\">no</seg>\n");
  }
  pack("news15", "wmt15/test.tgz");
  pack("news16", "wmt16/translation-task/test.tgz");
  fetch(options("wmt14"));
  EXPECT_EQ(out("train.en"), "europarl en\ncrawl\r\n\xff\nnews\n");
  EXPECT_EQ(out("train.de"), "europarl de\ncrawl\r\n\xff\nnews\n");
  EXPECT_EQ(out("test.en"), "source en\u2019s\n");
  EXPECT_EQ(out("test.de"), "reference de\u2019s\n");
  EXPECT_EQ(out("newstest2010.en"), "2010 en\n");
  EXPECT_EQ(out("newstest2011.de"), "2011 de\n");
  EXPECT_EQ(out("newstest2016.en"), "en\n");
  EXPECT_EQ(out("newstest2016.de"), "de\n");
}

TEST_F(Fetch, Opus100GivesEachPairADirectory) {
  const std::string inner = "/opus-100-corpus/v1.0/supervised/";
  for (const std::string part : {"train", "dev", "test"}) {
    put("a" + inner + "de-en/opus.de-en-" + part + ".de", part + " de\n");
    put("a" + inner + "de-en/opus.de-en-" + part + ".en", part + " en\n");
  }
  put("b" + inner + "en-yo/opus.en-yo-train.en", "train en\n");
  put("b" + inner + "en-yo/opus.en-yo-train.yo", "train yo\n");
  pack("a", "OPUS-100/v1.0/opus-100-corpus-de-en-v1.0.tar.gz");
  pack("b", "OPUS-100/v1.0/opus-100-corpus-en-yo-v1.0.tar.gz");
  FetchOptions both = options("opus100");
  both.pairs = {"en-de", "yo-en"};
  std::vector<std::string> written;
  for (const auto& file : fetch(both)) written.push_back(file.path);
  EXPECT_THAT(written,
              ElementsAre("en-de/dev.de", "en-de/dev.en", "en-de/test.de", "en-de/test.en",
                          "en-de/train.de", "en-de/train.en", "yo-en/train.en", "yo-en/train.yo"));
  EXPECT_EQ(out("en-de/dev.de"), "dev de\n");

  fs::rename(here_ / "b/opus-100-corpus/v1.0/supervised/en-yo",
             here_ / "a/opus-100-corpus/v1.0/supervised/en-yo");
  for (const std::string language : {"ar", "de"}) {
    put("a/opus-100-corpus/v1.0/zero-shot/ar-de/opus.ar-de-test." + language, language + "\n");
  }
  pack("a", "OPUS-100/v1.0/opus-100-corpus-v1.0.tar.gz");
  both.pairs = {"all"};
  both.output = here_ / "all";
  written.clear();
  for (const auto& file : fetch(both)) written.push_back(file.path);
  EXPECT_EQ(written.size(), 10u);
  EXPECT_EQ(read_file(here_ / "all/zeroshot/ar-de/test.ar"), "ar\n");
  EXPECT_EQ(read_file(here_ / "all/en-yo/train.yo"), "train yo\n");
}

TEST_F(Fetch, Opus100RefusesTheSameTextTwice) {
  FetchOptions twice = options("opus100");
  twice.pairs = {"en-de", "de-en"};
  EXPECT_THAT(error_of(twice), HasSubstr("the same text"));
  twice.pairs = {"fr-de"};
  EXPECT_THAT(error_of(twice), HasSubstr("English on one side"));
}

TEST_F(Fetch, AnUnknownSourceGetsASuggestion) {
  EXPECT_THAT(error_of(options("debain")), HasSubstr("did you mean \"debian\"?"));
}

TEST_F(Fetch, AnOutputThatCannotBeWrittenIsAnErrorBeforeAnyDownload) {
  put("file", "");
  FetchOptions wrong = options("iwslt14");
  wrong.output = here_ / "file/out";
  EXPECT_THAT(error_of(wrong), HasSubstr("is not a directory"));
  EXPECT_FALSE(fs::exists(here_ / "downloads"));
}

// A Debian archive of twenty packages, read by the machine's own apt.
class Debian : public Fetch {
 protected:
  void SetUp() override {
    Fetch::SetUp();
    if (run_process({"apt-get", "--version"}).exit_code != 0) GTEST_SKIP() << "needs apt-get";
    std::string english, german;
    for (int i = 0; i < 20; ++i) {
      const std::string name(3, static_cast<char>('a' + i));
      const std::string head = "Package: " + name + "\nDescription-md5: " + name + "\n";
      english += head + "Description-en: tool number " + name + " for everyone\n This is tool " +
                 name + ", a fine thing.\n .\n Everybody needs this tool.\n\n";
      german += head + "Description-de: Werkzeug Nummer " + name +
                " für alle\n Dies ist Werkzeug " + name +
                ", etwas Feines.\n .\n Alle brauchen dieses Werkzeug.\n\n";
    }
    put("mirror/dists/stable/main/i18n/Translation-en", english);
    put("mirror/dists/stable/main/i18n/Translation-de", german);
    std::string release =
        "Origin: Debian\nSuite: stable\nCodename: stable\nComponents: main\n"
        "Date: Sat, 01 Jan 2022 00:00:00 UTC\nArchitectures: amd64 arm64\nSHA256:\n";
    for (const std::string file : {"main/i18n/Translation-de", "main/i18n/Translation-en"}) {
      const fs::path path = here_ / ("mirror/dists/stable/" + file);
      release +=
          fmt::format(" {} {} {}\n", digests({path})[0].substr(7), fs::file_size(path), file);
    }
    put("mirror/dists/stable/Release", release);
  }

  FetchOptions small() const {
    FetchOptions chosen = options("debian");
    chosen.dev = 5;
    chosen.test = 6;
    return chosen;
  }
};

TEST_F(Debian, DescriptionsAreJoinedDeduplicatedAndSplit) {
  fetch(small());
  const std::string parts[] = {"train", "dev", "test"};
  std::set<std::string> all;
  for (const std::string& part : parts) {
    const auto lines = lines_of(here_ / ("out/" + part + ".en"));
    all.insert(lines.begin(), lines.end());
  }
  EXPECT_EQ(lines_of(here_ / "out/train.en").size(), 41u - 11u);
  EXPECT_EQ(lines_of(here_ / "out/dev.en").size(), 5u);
  EXPECT_EQ(lines_of(here_ / "out/test.de").size(), 6u);
  EXPECT_EQ(all.size(), 41u);  // 2 of each package, and one that all have
  EXPECT_TRUE(all.contains("This is tool ccc, a fine thing."));
}

TEST_F(Debian, TheDirectionChangesNothingAndTheSystemsListsAreNotTouched) {
  fetch(small());
  FetchOptions turned = small();
  turned.pairs = {"de-en"};
  turned.output = here_ / "turned";
  fetch(turned);
  for (const std::string file : {"train.de", "train.en", "dev.de", "test.en"}) {
    EXPECT_EQ(out(file), read_file(here_ / ("turned/" + file)));
  }
  EXPECT_TRUE(fs::exists(here_ / "downloads/debian/apt/lists"));
}

TEST_F(Debian, WithoutNetworkTheSameCommandGoesOnFromListsPutByHand) {
  FetchOptions cut_off = small();
  cut_off.mirror = "file://" + (here_ / "nowhere").string();
  const std::string error = error_of(cut_off);
  EXPECT_THAT(error, HasSubstr("the archive gave no Translation-de and no Translation-en"));
  for (const std::string language : {"en", "de"}) {
    const std::string file = "dists/stable/main/i18n/Translation-" + language;
    const size_t arrow = error.find(file + " -> ");
    ASSERT_NE(arrow, std::string::npos) << error;
    const size_t begin = arrow + file.size() + 4;
    const fs::path place = error.substr(begin, error.find('\n', begin) - begin);
    EXPECT_EQ(place.parent_path(), fs::absolute(here_ / "downloads/debian/apt/lists"));
    fs::copy_file(here_ / ("mirror/" + file), place);
  }
  EXPECT_EQ(error_of(cut_off), "no error");
  EXPECT_EQ(lines_of(here_ / "out/train.en").size(), 41u - 11u);
}

TEST_F(Debian, WhatCannotBeIsAPreciseError) {
  FetchOptions wrong = small();
  wrong.pairs = {"en-fr"};
  EXPECT_THAT(error_of(wrong), HasSubstr("no Translation-fr"));
  wrong.pairs = {"de-fr"};
  EXPECT_THAT(error_of(wrong), HasSubstr("must be English"));
  wrong = small();
  wrong.test = 100;
  EXPECT_THAT(error_of(wrong), HasSubstr("41 different pairs are too few"));
  wrong = small();
  wrong.collection = "description";
  EXPECT_THAT(error_of(wrong), HasSubstr("did you mean \"descriptions\"?"));
}

// Source packages are described by their sizes and digests, so that downloads are always checked.
TEST_F(Debian, CataloguesComeFromSourcePackages) {
  std::string catalogue = "msgid \"\"\nmsgstr \"\"\n\n";
  for (char c = 'a'; c <= 'z'; ++c) {
    catalogue += fmt::format(
        "msgid \"the message of {0}{0} here\"\nmsgstr \"die Nachricht von {0}{0} hier\"\n\n", c);
  }
  put("tool/tool-1/po/de.po", catalogue);
  put("tool/tool-1/po/fr.po", "no catalogue");
  put("tool/tool-1/doc/de/broken.po", "msgid \"x");
  pack("tool", "pool/tool_1.orig.tar.gz");
  const fs::path archive = here_ / "mirror/pool/tool_1.orig.tar.gz";
  const std::string entry = fmt::format("{} {} {}", digests({archive})[0].substr(7),
                                        fs::file_size(archive), "tool_1.orig.tar.gz");
  put("mirror/pool/tool_1.dsc", "Format: 3.0 (quilt)\n");
  const fs::path dsc = here_ / "mirror/pool/tool_1.dsc";
  put("mirror/dists/stable/main/source/Sources",
      fmt::format("Package: tool\nBinary: tool\nVersion: 1\nFormat: 3.0 (quilt)\nDirectory: pool\n"
                  "Architecture: any\nFiles:\n 0123456789abcdef0123456789abcdef {} tool_1.dsc\n"
                  " 0123456789abcdef0123456789abcdee {} tool_1.orig.tar.gz\n"
                  "Checksums-Sha256:\n {} {} tool_1.dsc\n {}\n\n",
                  fs::file_size(dsc), fs::file_size(archive), digests({dsc})[0].substr(7),
                  fs::file_size(dsc), entry));
  const fs::path sources = here_ / "mirror/dists/stable/main/source/Sources";
  put("mirror/dists/stable/Release",
      read_file(here_ / "mirror/dists/stable/Release") +
          fmt::format(" {} {} main/source/Sources\n", digests({sources})[0].substr(7),
                      fs::file_size(sources)));
  FetchOptions chosen = small();
  chosen.collection = "gettext";
  chosen.packages = {"tool"};
  fetch(chosen);
  EXPECT_EQ(lines_of(here_ / "out/train.de").size(), 26u - 11u);
  chosen.output = here_ / "none";
  chosen.packages = {"nothing"};
  EXPECT_THAT(error_of(chosen), HasSubstr("no source package \"nothing\""));
}

TEST(ParsePair, TakesLanguageCodesOnly) {
  EXPECT_EQ(data::parse_pair("en-pt_BR").target, "pt_BR");
  EXPECT_EQ(data::parse_pair("ca@valencia-en").source, "ca@valencia");
  for (const char* wrong : {"", "-", "en", "en-", "-de", "en-en", "en-../x", "e-de", "en-de-fr",
                            "en-d/e", "english-de"}) {
    EXPECT_THROW(data::parse_pair(wrong), Error) << wrong;
  }
}

TEST_F(Fetch, GeneratedTextNeedsNothingAndIsTheSameEveryTime) {
  FetchOptions chosen = options("generated");
  chosen.mirror = "http://no.such.host";
  chosen.dev = chosen.test = 100;
  const auto files = fetch(chosen);
  EXPECT_EQ(out("test.en").substr(0, out("test.en").find('\n')),
            "This red village will follow the bears.");
  const std::string text = out("source.toml");
  chosen.force = true;
  fetch(chosen);
  EXPECT_EQ(out("source.toml"), text) << "it holds every file's digest";

  const auto train = lines_of(here_ / "out/train.en"), test = lines_of(here_ / "out/test.en");
  EXPECT_GT(train.size(), 29000u);
  EXPECT_EQ(test.size(), 100u);
  for (const std::string& line : test) EXPECT_EQ(train.count(line), 0u) << line;
}

}  // namespace
}  // namespace residual::fetch
