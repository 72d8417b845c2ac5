#include "data/preparing/prepare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/version.h"
#include "data/corpus.h"
#include "data/hash_set.h"
#include "data/pair_stream.h"
#include "data/subwords.h"
#include "data/words.h"
#include "text/documents.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

using text::Vocabulary;

constexpr uint64_t kDiskFactor = 6;    // text, words, pieces and ids beside each other
constexpr int32_t kNarrowIds = 65536;  // that fit 16 bits
constexpr size_t kLongestLine = 2000;  // bytes of words: SentencePiece skips longer lines
constexpr std::array<const char*, 3> kSplits = {"train", "dev", "test"};

// Writes a document's words in lines of moderate length, then an empty line.
void write_in_lines(std::string_view words, ScratchFile& file) {
  while (words.size() > kLongestLine) {
    size_t end = words.rfind(' ', kLongestLine);
    if (end == std::string_view::npos) end = words.find(' ', kLongestLine);
    if (end == std::string_view::npos) break;
    file.write_line(words.substr(0, end));
    words.remove_prefix(end + 1);
  }
  if (!words.empty()) file.write_line(words);
  file.write_line("");
}

// The windows of one split.
class Windows {
 public:
  Windows(const fs::path& path, const CorpusOptions& options, int64_t tokens)
      : writer_(path, options), tokens_(static_cast<size_t>(tokens)) {}

  // A document's ids, </s> included. `number` is the document's, from 1.
  void add(std::span<const int32_t> ids, uint64_t number) {
    unknown_ += std::ranges::count(ids, Vocabulary::kUnk);
    count_ += std::ssize(ids);
    for (const int32_t id : ids) {
      if (window_.empty()) first_ = number;
      window_.push_back(id);
      if (window_.size() == tokens_) write();
    }
  }
  void finish(PreparedCorpus& corpus) {
    if (!window_.empty()) write();
    writer_.commit();
    corpus.pairs = corpus.source_tokens = windows_;
    corpus.target_tokens = count_;
    corpus.target_unknown = unknown_;
  }

 private:
  void write() {
    writer_.add(std::array{Vocabulary::kEos}, window_, first_);
    window_.clear();
    ++windows_;
  }

  CorpusWriter writer_;
  size_t tokens_;
  std::vector<int32_t> window_;
  uint64_t first_ = 0;  // document that it begins in
  int64_t windows_ = 0, count_ = 0, unknown_ = 0;
};

class TextPreparation {
 public:
  TextPreparation(const Recipe& recipe, const PrepareOptions& options)
      : recipe_(recipe), options_(options), language_(recipe.language) {
    manifest_.residual = version();
    manifest_.commit = commit();
    manifest_.recipe = recipe;
  }

  Manifest run() {
    find_input();
    AtomicDirectory directory(options_.output, options_.force, "prepared.toml");
    directory_ = directory.path();
    scratch_ = directory_ / "work";
    fs::create_directory(scratch_);
    read_documents();
    for (const auto& split : splits_) make_words(split);
    const Subwords subwords = options_.like
                                  ? Subwords(recipe_, *options_.like, {language_})
                                  : Subwords(recipe_, {{language_, {scratch("train", "words")}}});
    for (const auto& split : splits_) make_pieces(split, subwords);
    const Vocabulary vocabulary = options_.like ? known_vocabulary() : counted_vocabulary();
    vocabulary.save(directory_ / "vocabulary.txt");
    manifest_.vocabularies.push_back(
        {.file = "vocabulary.txt", .languages = {language_}, .symbols = vocabulary.size()});
    for (const auto& split : splits_) write_corpus(split, vocabulary);
    fs::remove_all(scratch_);
    subwords.save(directory_);
    manifest_.files = files_in(directory_);
    replace_file(directory_ / "prepared.toml", sealed(to_toml(manifest_)));
    directory.commit();
    return manifest_;
  }

 private:
  // A file as it is named, or with the language behind its name.
  fs::path path_of(const std::string& name) const {
    const fs::path path = fs::path(recipe_.data) / name;
    const fs::path with_language = path.string() + "." + language_;
    return !fs::exists(path) && fs::exists(with_language) ? with_language : path;
  }

  void find_input() {
    const std::array<const std::vector<std::string>*, 3> names = {&recipe_.train, &recipe_.dev,
                                                                  &recipe_.test};
    uint64_t bytes = 0;
    for (size_t i = 0; i < kSplits.size(); ++i) {
      for (const auto& name : *names[i]) {
        files_[kSplits[i]].push_back(path_of(name));
        manifest_.inputs.push_back(input_at(files_[kSplits[i]].back()));
        bytes += static_cast<uint64_t>(manifest_.inputs.back().bytes);
      }
    }
    require_disk_space(options_.output, kDiskFactor * bytes);
    require(text::find_invalid_utf8(to_toml(manifest_)) == std::string::npos,
            "the recipe or the name of an input is not UTF-8");
  }

  fs::path scratch(const std::string& split, const char* step) const {
    return scratch_ / (split + "." + step);
  }

  // Documents one in a line. Dev and test first, since training text is compared with them.
  void read_documents() {
    std::map<std::string, ScratchFile> out;
    const auto add = [&](const std::string& split, std::string_view document) {
      out.try_emplace(split, scratch(split, "documents")).first->second.write_line(document);
      ++documents_[split];
    };
    HashSet held_out, seen;
    for (const char* split : {"dev", "test"}) {
      for_documents(split, [&](const std::string& document) {
        held_out.insert(checksum(document));
        add(split, document);
      });
    }
    PreparedCleaning counts{
        .pair = language_, .reasons = {"duplicate", "overlap"}, .dropped = {0, 0}};
    const SplitOptions& split = recipe_.split;
    int64_t kept = 0;
    for_documents("train", [&](const std::string& document) {
      ++counts.lines;
      const uint64_t key = checksum(document);
      const bool overlaps = recipe_.clean.overlap != Overlap::keep && held_out.contains(key);
      const bool repeats =
          !overlaps && recipe_.clean.duplicates != Duplicates::keep && !seen.insert(key);
      counts.dropped[0] += static_cast<int64_t>(repeats);
      counts.dropped[1] += static_cast<int64_t>(overlaps);
      if (overlaps || repeats) return;
      ++kept;
      if (split.dev_every > 0 && kept % split.dev_every == 0) {
        ++counts.dev;
        add("dev", document);
      } else if (split.test_every > 0 && (kept + 1) % split.test_every == 0) {
        ++counts.test;
        add("test", document);
      } else {
        ++counts.train;
        add("train", document);
      }
    });
    require(counts.train > 0, "{}: no document is left to train on",
            files_["train"].empty() ? "train" : files_["train"][0].string());
    manifest_.cleaning = {std::move(counts)};
    for (const char* name : kSplits) {
      if (out.contains(name)) {
        out.at(name).close();
        splits_.emplace_back(name);
      }
    }
  }

  void for_documents(const std::string& split,
                     const std::function<void(const std::string&)>& body) {
    for (const auto& file : files_[split]) {
      Progress progress("read " + file.filename().string(), 0, "documents");
      text::DocumentCursor documents(
          file, options_.invalid,
          recipe_.windows.lines ? text::Documents::lines : text::Documents::paragraphs);
      while (const auto document = documents.next()) {
        body(document->text);
        progress.add();
      }
      progress.finish();
    }
  }

  void transform(const std::string& split, const char* from, const char* to,
                 const std::function<text::LineTransform()>& make) const {
    text::transform_lines({.input = scratch(split, from), .output = scratch(split, to)}, make);
  }

  void make_words(const std::string& split) {
    const bool is_held_out = !files_[split].empty() && split != "train";
    const ToWords words =
        is_held_out ? ToWords::held_out(recipe_, language_) : ToWords(recipe_, language_);
    transform(split, "documents", "whole", [&] {
      return [words = words](std::string_view line, std::string& out) mutable {
        std::string text(line);
        words(text);
        words.finish(text);
        out += text;
      };
    });
    ScratchFile lines(scratch(split, "words"));
    text::for_each_line(scratch(split, "whole"), text::Invalid::refuse,
                        [&](std::string_view line, uint64_t) { write_in_lines(line, lines); });
    lines.close();
    fs::remove(scratch(split, "whole"));
  }

  void make_pieces(const std::string& split, const Subwords& subwords) const {
    transform(split, "words", "pieces", [&] { return subwords.transform(language_); });
  }

  Vocabulary counted_vocabulary() const {
    const VocabularyOptions& o = recipe_.vocabulary;
    text::VocabularyBuilder builder;
    const std::array files = {scratch("train", "pieces")};
    builder.merge(
        text::count_words(files, text::Invalid::refuse, text::VocabularyBuilder::count_line));
    return builder.finish({.threshold = static_cast<uint64_t>(o.threshold),
                           .max_words = o.max_symbols == 0 ? -1 : o.max_symbols,
                           .multiple = static_cast<int32_t>(o.multiple)});
  }
  Vocabulary known_vocabulary() const {
    const std::string& file = options_.like->vocabularies.at(language_);
    return Vocabulary::parse(options_.like->read(file),
                             (fs::path(options_.like->place) / file).string());
  }

  void write_corpus(const std::string& split, const Vocabulary& vocabulary) {
    PreparedCorpus corpus{
        .file = split + ".corpus", .split = split, .source = language_, .target = language_};
    const uint64_t hash = checksum(vocabulary.format());
    Windows windows(directory_ / corpus.file,
                    {.source_language = language_,
                     .target_language = language_,
                     .source_vocabulary_hash = hash,
                     .target_vocabulary_hash = hash,
                     .wide_ids = vocabulary.size() > kNarrowIds},
                    recipe_.windows.tokens);
    Progress progress("write " + split, documents_[split], "documents");
    std::vector<int32_t> ids;
    uint64_t number = 1;
    text::for_each_line(scratch(split, "pieces"), text::Invalid::refuse,
                        [&](std::string_view pieces, uint64_t) {
                          if (!pieces.empty()) {
                            vocabulary.encode(pieces, ids);
                            ids.pop_back();
                            return;
                          }
                          ids.push_back(Vocabulary::kEos);
                          windows.add(ids, number++);
                          ids.clear();
                          progress.add();
                        });
    windows.finish(corpus);
    progress.finish();
    if (split != "train") keep_text(split, corpus);
    manifest_.corpora.push_back(corpus);
  }

  // The documents, for scoring.
  void keep_text(const std::string& split, PreparedCorpus& corpus) const {
    corpus.source_text = corpus.target_text = fmt::format("{}.{}.txt", split, language_);
    AtomicFile file(directory_ / corpus.target_text);
    text::for_each_line(scratch(split, "documents"), text::Invalid::refuse,
                        [&](std::string_view document, uint64_t number) {
                          if (number > 1) file.write("\n");
                          file.write(document);
                          file.write("\n");
                        });
    file.commit();
  }

  const Recipe& recipe_;
  const PrepareOptions& options_;
  const std::string language_;
  Manifest manifest_;
  fs::path directory_, scratch_;
  std::map<std::string, std::vector<fs::path>> files_;  // by split
  std::map<std::string, uint64_t> documents_;
  std::vector<std::string> splits_;  // that have documents
};

}  // namespace

Manifest prepare_text(const Recipe& recipe, const PrepareOptions& options) {
  return TextPreparation(recipe, options).run();
}

}  // namespace residual::data
