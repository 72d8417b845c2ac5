#include "data/prepared.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/error.h"
#include "base/progress.h"
#include "data/corpus.h"
#include "text/documents.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

std::string count(int64_t n) { return format_count(static_cast<uint64_t>(n)); }

std::string percentage(int64_t part, int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.2f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Columns as wide as their widest cell; the first is left-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                    : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    out += '\n';
  }
  return out;
}

std::string cleaning_table(const Manifest& manifest) {
  std::vector<std::vector<std::string>> rows{{"training text", "lines", "train", "dev"}};
  for (const auto& reason : manifest.cleaning[0].reasons) rows[0].push_back(reason);
  for (const auto& cleaning : manifest.cleaning) {
    rows.push_back(
        {cleaning.pair, count(cleaning.lines), count(cleaning.train), count(cleaning.dev)});
    for (const int64_t dropped : cleaning.dropped) rows.back().push_back(count(dropped));
  }
  return table(rows);
}

std::string corpus_table(const Manifest& manifest) {
  std::vector<std::vector<std::string>> rows{
      {"corpus", "pairs", "source tokens", "unknown", "target tokens", "unknown"}};
  for (const auto& corpus : manifest.corpora) {
    rows.push_back(
        {fmt::format("{} {}-{}", corpus.split, corpus.source, corpus.target), count(corpus.pairs),
         count(corpus.source_tokens), percentage(corpus.source_unknown, corpus.source_tokens),
         count(corpus.target_tokens), percentage(corpus.target_unknown, corpus.target_tokens)});
  }
  return table(rows);
}

std::string text_tables(const Manifest& manifest) {
  const PreparedCleaning& cleaning = manifest.cleaning[0];
  std::vector<std::vector<std::string>> kept{
      {"training text", "documents", "train", "dev", "test"},
      {cleaning.pair, count(cleaning.lines), count(cleaning.train), count(cleaning.dev),
       count(cleaning.test)}};
  for (size_t i = 0; i < cleaning.reasons.size(); ++i) {
    kept[0].push_back(cleaning.reasons[i]);
    kept[1].push_back(count(cleaning.dropped[i]));
  }
  std::vector<std::vector<std::string>> corpora{{"corpus", "windows", "tokens", "unknown"}};
  for (const auto& corpus : manifest.corpora) {
    corpora.push_back({fmt::format("{} {}", corpus.split, corpus.target), count(corpus.pairs),
                       count(corpus.target_tokens),
                       percentage(corpus.target_unknown, corpus.target_tokens)});
  }
  return table(kept) + "\n" + table(corpora);
}

}  // namespace

void fields(ConfigVisitor& visit, PreparedInput& o) {
  visit("file", o.file, "file name as in the recipe");
  visit("bytes", o.bytes, "size of the file");
  visit("checksum", o.checksum, "64-bit XXH3 of the file");
}

void fields(ConfigVisitor& visit, PreparedCleaning& o) {
  visit("pair", o.pair, "the language pair");
  visit("lines", o.lines, "training pairs read");
  visit("train", o.train, "pairs kept for training");
  visit("dev", o.dev, "pairs split off for dev and kept");
  visit("test", o.test, "documents of running text split off for test");
  visit("reasons", o.reasons, "why pairs were dropped");
  visit("dropped", o.dropped, "number of pairs dropped for each reason");
}

void fields(ConfigVisitor& visit, PreparedCorpus& o) {
  visit("file", o.file, "file of the ids");
  visit("split", o.split, "train, dev or test");
  visit("source", o.source, "source language");
  visit("target", o.target, "target language");
  visit("source_tag", o.source_tag, "symbol to put before each source, or nothing");
  visit("pairs", o.pairs, "sentence pairs");
  visit("source_tokens", o.source_tokens, "source tokens, </s> included");
  visit("target_tokens", o.target_tokens, "target tokens, </s> included");
  visit("source_unknown", o.source_unknown, "<unk> among the source tokens");
  visit("target_unknown", o.target_unknown, "<unk> among the target tokens");
  visit("source_text", o.source_text, "raw source lines of dev and test");
  visit("target_text", o.target_text, "raw target lines of dev and test");
}

void fields(ConfigVisitor& visit, PreparedVocabulary& o) {
  visit("file", o.file, "fairseq's dict.txt format");
  visit("languages", o.languages, "languages that use this vocabulary");
  visit("symbols", o.symbols, "number of symbols, the four special ones included");
}

void fields(ConfigVisitor& visit, PreparedFile& o) {
  visit("file", o.file, "file name in this directory");
  visit("bytes", o.bytes, "size of the file");
  visit("checksum", o.checksum, "64-bit XXH3 of the file");
}

void fields(ConfigVisitor& visit, Manifest& o) {
  visit("format", o.format, "version of the directory's layout");
  visit("residual", o.residual, "version of ResiDual that wrote the directory");
  visit("commit", o.commit, "source commit of that version");
  visit.table("recipe", o.recipe, "the recipe that was applied");
  visit.tables("inputs", o.inputs, "input files");
  visit.tables("cleaning", o.cleaning, "counts of dropped pairs");
  visit.tables("vocabularies", o.vocabularies, "symbols and their ids");
  visit.tables("corpora", o.corpora, "the sentences as ids");
  visit.tables("files", o.files, "everything in the directory");
}

namespace {

// A directory may come from an untrusted source: the files that it names must be inside it.
void check_names(const Manifest& manifest, const fs::path& path) {
  const auto check = [&](const std::string& name) {
    require(is_file_name(name), "{}: expected the name of a file in the same directory, got \"{}\"",
            path.string(), name);
  };
  for (const auto& vocabulary : manifest.vocabularies) check(vocabulary.file);
  for (const auto& file : manifest.files) check(file.file);
  for (const auto& corpus : manifest.corpora) {
    check(corpus.file);
    for (const auto& text : {corpus.source_text, corpus.target_text}) {
      if (!text.empty()) check(text);
    }
  }
}

}  // namespace

Manifest load_manifest(const fs::path& directory) {
  const fs::path file = directory / "prepared.toml";
  require(fs::exists(file),
          "{}: it has no prepared.toml; create the directory with `residual prepare`",
          directory.string());
  const std::string text = read_file(file);
  require(
      seal_of(text) != Seal::broken,
      "{}: was changed or damaged: its lines do not match the checksum in the first; prepare it "
      "again",
      file.string());
  Manifest manifest;
  read_toml(text, file.string(), [&](ConfigVisitor& visit) { fields(visit, manifest); });
  require(manifest.format == 1, "{}: format {}, this program reads format 1; prepare it again",
          file.string(), manifest.format);
  check_names(manifest, file);
  return manifest;
}

PreparedInput input_at(const fs::path& path) {
  const MappedFile file(path);
  require(!file.bytes().empty(), "{}: has no lines", path.string());
  return {.file = path.string(),
          .bytes = static_cast<int64_t>(file.bytes().size()),
          .checksum = to_hex(checksum(file.bytes()))};
}

std::vector<PreparedFile> files_in(const fs::path& directory) {
  std::vector<PreparedFile> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const MappedFile file(entry.path());
    files.push_back({.file = entry.path().filename().string(),
                     .bytes = static_cast<int64_t>(file.bytes().size()),
                     .checksum = to_hex(checksum(file.bytes()))});
  }
  std::ranges::sort(files, {}, &PreparedFile::file);
  return files;
}

std::vector<std::string> read_texts(const Manifest& manifest, const fs::path& path) {
  std::vector<std::string> texts;
  if (manifest.recipe.language.empty()) {
    text::for_each_line(path, text::Invalid::refuse,
                        [&](std::string_view line, uint64_t) { texts.emplace_back(line); });
    return texts;
  }
  text::DocumentCursor documents(path);
  while (auto document = documents.next()) texts.push_back(std::move(document->text));
  return texts;
}

const PreparedVocabulary& vocabulary_of(const Manifest& manifest, const std::string& language) {
  const auto found = std::ranges::find_if(manifest.vocabularies, [&](const auto& vocabulary) {
    return std::ranges::count(vocabulary.languages, language) > 0;
  });
  require(found != manifest.vocabularies.end(), "prepared.toml: no vocabulary has the language {}",
          language);
  return *found;
}

namespace {

void check_bytes(const PreparedFile& entry, const fs::path& path, std::string_view bytes) {
  const std::string found = to_hex(checksum(bytes));
  require(static_cast<int64_t>(bytes.size()) == entry.bytes && found == entry.checksum,
          "{}: {} bytes with checksum {}, prepared.toml says {} bytes with checksum {}; the file "
          "was changed or damaged, prepare it again",
          path.string(), bytes.size(), found, entry.bytes, entry.checksum);
}

}  // namespace

std::string read_listed(const Manifest& manifest, const fs::path& directory,
                        const std::string& file) {
  const fs::path path = directory / file;
  require(fs::exists(path),
          "{}: is missing, and models of this corpus need it; prepare the directory again",
          path.string());
  std::string content = read_file(path);
  const auto entry = std::ranges::find(manifest.files, file, &PreparedFile::file);
  if (entry != manifest.files.end()) check_bytes(*entry, path, content);
  return content;
}

void check_listed(const Manifest& manifest, const fs::path& directory, const std::string& file) {
  const auto entry = std::ranges::find(manifest.files, file, &PreparedFile::file);
  if (entry == manifest.files.end()) return;
  const MappedFile mapped(directory / file);
  check_bytes(*entry, mapped.path(), mapped.bytes());
}

void verify(const Manifest& manifest, const fs::path& directory) {
  for (const auto& entry : manifest.files) {
    const MappedFile file(directory / entry.file);
    check_bytes(entry, file.path(), file.bytes());
  }
  for (const auto& vocabulary : manifest.vocabularies) check_symbols(vocabulary, directory);
  for (const auto& corpus : manifest.corpora) check_ids(corpus, manifest, directory);
}

void check_symbols(const PreparedVocabulary& vocabulary, const fs::path& directory) {
  const fs::path file = directory / vocabulary.file;
  const int64_t found = text::Vocabulary::load(file).size();
  require(found == vocabulary.symbols,
          "{}: has {} symbols, prepared.toml says {}; prepare the directory again", file.string(),
          found, vocabulary.symbols);
}

void check_ids(const PreparedCorpus& corpus, const Manifest& manifest, const fs::path& directory) {
  const fs::path file = directory / corpus.file;
  const CorpusFooter footer = Corpus::open(file).footer();
  const auto check = [&](const char* side, const std::string& language, uint32_t limit) {
    const int64_t symbols = vocabulary_of(manifest, language).symbols;
    require(limit <= symbols,
            "{}: has {} ids up to {}, but the vocabulary has {} symbols; prepare the directory "
            "again",
            file.string(), side, int64_t{limit} - 1, symbols);
  };
  check("source", corpus.source, footer.source_id_limit);
  check("target", corpus.target, footer.target_id_limit);
}

std::string summary(const Manifest& manifest) {
  const bool is_text = !manifest.recipe.language.empty();
  std::string out =
      is_text ? text_tables(manifest) : cleaning_table(manifest) + "\n" + corpus_table(manifest);
  out += "\n";
  for (const auto& vocabulary : manifest.vocabularies) {
    out += fmt::format("{}: {} symbols ({})\n", vocabulary.file, count(vocabulary.symbols),
                       fmt::join(vocabulary.languages, ", "));
  }
  return out;
}

}  // namespace residual::data
