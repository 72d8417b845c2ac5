#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/files.h"

// Sentence pairs as token ids in one memory-mapped file; docs/formats.md describes its bytes.
namespace residual::data {

struct CorpusOptions {
  std::string source_language, target_language;  // at most 31 bytes each
  uint64_t source_vocabulary_hash = 0;
  uint64_t target_vocabulary_hash = 0;
  bool wide_ids = false;  // 32 bits per id; 16 suffice up to 65,536 vocabulary entries
};

// The last bytes of a corpus file, in their layout on disk.
struct CorpusFooter {
  struct Section {
    uint64_t offset, bytes, checksum;
  };
  Section ids, boundaries, lines;
  uint64_t pairs, source_tokens, target_tokens;
  uint64_t source_vocabulary_hash, target_vocabulary_hash;
  uint32_t source_id_limit, target_id_limit;  // every id is below its limit
  uint32_t id_bytes, reserved;
  char source_language[32], target_language[32];
  uint64_t checksum;  // checksum of the footer's other fields
  char magic[8];
};
static_assert(sizeof(CorpusFooter) == 208);

// The ids of one sentence, EOS included. It is valid as long as its Corpus.
class SentenceView {
 public:
  SentenceView(const void* ids, int64_t size, bool wide) : ids_(ids), size_(size), wide_(wide) {}

  int64_t size() const { return size_; }
  int32_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int32_t*>(ids_)[i] : static_cast<const uint16_t*>(ids_)[i];
  }
  // Appends the ids to `to` and returns the largest. Ids of a damaged file may be negative; they
  // count as larger than any other.
  uint32_t append_to(std::vector<int32_t>& to) const;

 private:
  const void* ids_;
  int64_t size_;
  bool wide_;
};

// Writes a corpus pair by pair in constant memory. The complete file appears at commit().
class CorpusWriter {
 public:
  CorpusWriter(const fs::path& path, CorpusOptions options);
  ~CorpusWriter();

  // Both sides end with EOS, so neither is empty. `line` is the line of the pair's text, counted
  // from 1, for messages.
  void add(std::span<const int32_t> source, std::span<const int32_t> target, uint64_t line);
  void commit();

 private:
  class Spill;
  uint32_t write_ids(std::span<const int32_t> ids, const char* side, uint64_t line);
  void write_spill(Spill& spill, CorpusFooter::Section& section);

  fs::path path_;
  CorpusOptions options_;
  AtomicFile file_;
  Checksum ids_checksum_;
  std::unique_ptr<Spill> boundaries_, lines_;
  CorpusFooter footer_{};
};

// A corpus for reading, from any number of threads. Opening reads only the footer, so its cost does
// not depend on the size. Index entries are checked where they are used (three comparisons per
// sentence): a check of the whole index at open would read 1.6 GB for 100 million pairs, and would
// prove nothing about a file that changes afterwards.
class Corpus {
 public:
  static Corpus open(const fs::path& path);

  int64_t size() const { return static_cast<int64_t>(footer_.pairs); }
  SentenceView source(int64_t pair) const { return view(bounds(pair), false); }
  SentenceView target(int64_t pair) const { return view(bounds(pair), true); }
  struct Lengths {
    int64_t source, target;
  };
  Lengths lengths(int64_t pair) const {
    const Bounds at = bounds(pair);
    return {static_cast<int64_t>(at.target - at.source), static_cast<int64_t>(at.end - at.target)};
  }
  // Appends the ids of both sides. Throws an Error for an id that is not below its side's limit, so
  // that the ids can index an embedding table of the corpus's vocabulary.
  void append(int64_t pair, std::vector<int32_t>& source, std::vector<int32_t>& target) const;
  uint64_t line(int64_t pair) const;  // line of the original text, counted from 1

  const CorpusFooter& footer() const { return footer_; }
  std::string source_language() const { return footer_.source_language; }
  std::string target_language() const { return footer_.target_language; }
  const fs::path& path() const { return file_.path(); }

  // Throws an Error unless the corpus was made with these vocabularies.
  void require_vocabularies(uint64_t source_hash, uint64_t target_hash) const;

  // Reads the whole file. Throws an Error unless all checksums match. Calls read(bytes) as it goes.
  void check_sums(const std::function<void(uint64_t)>& read = {}) const;
  // Throws an Error unless, in addition, every entry is valid.
  void verify() const;

 private:
  explicit Corpus(MappedFile file) : file_(std::move(file)) {}

  struct Bounds {
    uint64_t source, target, end;  // the pair's ids are [source, target) and [target, end)
  };
  Bounds bounds(int64_t pair) const {
    // Read once each: the file could change between a check and a second read.
    const Bounds at{boundaries_[2 * pair], boundaries_[2 * pair + 1], boundaries_[2 * pair + 2]};
    if (at.source >= at.target || at.target >= at.end || at.end > id_count_) damaged_entry(pair);
    return at;
  }
  SentenceView view(const Bounds& at, bool target) const {
    const uint64_t begin = target ? at.target : at.source;
    const uint64_t end = target ? at.end : at.target;
    return {ids_ + begin * footer_.id_bytes, static_cast<int64_t>(end - begin),
            footer_.id_bytes == 4};
  }
  void check_footer() const;
  [[noreturn]] void damaged(const std::string& what) const;
  [[noreturn]] void damaged_entry(int64_t pair) const;

  MappedFile file_;
  CorpusFooter footer_{};
  const char* ids_ = nullptr;
  const uint64_t* boundaries_ = nullptr;
  const uint64_t* lines_ = nullptr;
  uint64_t id_count_ = 0;
};

}  // namespace residual::data
