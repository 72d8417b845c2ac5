#include "data/corpus.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"

namespace residual::data {
namespace {

static_assert(std::endian::native == std::endian::little, "corpus files are little-endian");

constexpr char kHeader[16] = {'r', 'e', 's', 'i', 'd', 'u', 'a', 'l',
                              ' ', 'c', 'o', 'r', 'p', 'u', 's', '1'};
constexpr char kFooterMagic[8] = {'c', 'o', 'r', 'p', 'u', 's', '1', '\n'};
constexpr uint64_t kAlignment = 8;

std::string_view footer_body(const CorpusFooter& footer) {
  return {reinterpret_cast<const char*>(&footer), offsetof(CorpusFooter, checksum)};
}

template <class T>
uint32_t append(const T* from, int64_t size, std::vector<int32_t>& to) {
  const size_t begin = to.size();
  to.insert(to.end(), from, from + size);
  uint32_t largest = 0;
  for (size_t i = begin; i < to.size(); ++i) {
    largest = std::max(largest, static_cast<uint32_t>(to[i]));
  }
  return largest;
}

void set_language(char (&field)[32], const std::string& language, const fs::path& path) {
  require(language.size() < sizeof(field), "{}: language name \"{}\" is longer than {} bytes",
          path.string(), language, sizeof(field) - 1);
  std::copy(language.begin(), language.end(), field);
}

}  // namespace

uint32_t SentenceView::append_to(std::vector<int32_t>& to) const {
  return wide_ ? append(static_cast<const int32_t*>(ids_), size_, to)
               : append(static_cast<const uint16_t*>(ids_), size_, to);
}

// Numbers kept on disk until the end of the corpus file is reached. The file has no name from the
// start, so that nothing is left of it however the process ends.
class CorpusWriter::Spill {
 public:
  explicit Spill(const fs::path& neighbour) : name_(neighbour.string() + ".spill-XXXXXX") {
    const int file = ::mkstemp(name_.data());
    if (file < 0) fail_errno(name_, "cannot create");
    ::unlink(name_.c_str());
    file_ = ::fdopen(file, "w+b");
    if (!file_) fail_errno(name_, "cannot open");
  }
  ~Spill() { std::fclose(file_); }
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  void add(uint64_t value) {
    if (std::fwrite(&value, sizeof(value), 1, file_) != 1) fail_errno(name_, "cannot write");
  }
  void rewind() {
    if (std::fflush(file_) != 0 || std::fseek(file_, 0, SEEK_SET) != 0) {
      fail_errno(name_, "cannot write");
    }
  }
  // The next bytes, nothing at the end.
  std::string_view read() {
    buffer_.resize(1 << 16);
    const size_t n = std::fread(buffer_.data(), 1, buffer_.size(), file_);
    if (n == 0 && std::ferror(file_)) fail_errno(name_, "cannot read");
    return {buffer_.data(), n};
  }

 private:
  std::string name_;
  std::FILE* file_ = nullptr;
  std::vector<char> buffer_;
};

CorpusWriter::CorpusWriter(const fs::path& path, CorpusOptions options)
    : path_(path),
      options_(std::move(options)),
      file_(path),
      boundaries_(std::make_unique<Spill>(path)),
      lines_(std::make_unique<Spill>(path)) {
  set_language(footer_.source_language, options_.source_language, path_);
  set_language(footer_.target_language, options_.target_language, path_);
  footer_.source_vocabulary_hash = options_.source_vocabulary_hash;
  footer_.target_vocabulary_hash = options_.target_vocabulary_hash;
  footer_.id_bytes = options_.wide_ids ? 4 : 2;
  footer_.ids.offset = sizeof(kHeader);
  std::copy(std::begin(kFooterMagic), std::end(kFooterMagic), footer_.magic);
  file_.write({kHeader, sizeof(kHeader)});
}

CorpusWriter::~CorpusWriter() = default;

void CorpusWriter::add(std::span<const int32_t> source, std::span<const int32_t> target,
                       uint64_t line) {
  const uint64_t begin = footer_.source_tokens + footer_.target_tokens;
  footer_.source_id_limit = std::max(footer_.source_id_limit, write_ids(source, "source", line));
  footer_.target_id_limit = std::max(footer_.target_id_limit, write_ids(target, "target", line));
  boundaries_->add(begin);
  boundaries_->add(begin + source.size());
  lines_->add(line);
  footer_.source_tokens += source.size();
  footer_.target_tokens += target.size();
  ++footer_.pairs;
}

// Returns the largest id plus 1.
uint32_t CorpusWriter::write_ids(std::span<const int32_t> ids, const char* side, uint64_t line) {
  require(!ids.empty(), "{}: the {} side of line {} has no ids; every sentence ends with EOS",
          path_.string(), side, line);
  const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
  const int32_t limit = options_.wide_ids ? std::numeric_limits<int32_t>::max() : 65536;
  require(*low >= 0 && *high < limit,
          "{}: the {} side of line {} has id {}; {}-bit ids go from 0 to {}", path_.string(), side,
          line, *low < 0 ? *low : *high, footer_.id_bytes * 8, limit - 1);
  std::string_view bytes{reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
  std::vector<uint16_t> narrow;
  if (!options_.wide_ids) {
    narrow.resize(ids.size());
    std::transform(ids.begin(), ids.end(), narrow.begin(),
                   [](int32_t id) { return static_cast<uint16_t>(id); });
    bytes = {reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(uint16_t)};
  }
  file_.write(bytes);
  ids_checksum_.add(bytes);
  footer_.ids.bytes += bytes.size();
  return static_cast<uint32_t>(*high) + 1;
}

void CorpusWriter::write_spill(Spill& spill, CorpusFooter::Section& section) {
  constexpr char kZeros[kAlignment] = {};
  file_.write({kZeros, (kAlignment - file_.size() % kAlignment) % kAlignment});
  section.offset = file_.size();
  Checksum sum;
  spill.rewind();
  for (std::string_view bytes; !(bytes = spill.read()).empty();) {
    file_.write(bytes);
    sum.add(bytes);
  }
  section.bytes = file_.size() - section.offset;
  section.checksum = sum.value();
}

void CorpusWriter::commit() {
  footer_.ids.checksum = ids_checksum_.value();
  boundaries_->add(footer_.source_tokens + footer_.target_tokens);
  write_spill(*boundaries_, footer_.boundaries);
  write_spill(*lines_, footer_.lines);
  footer_.checksum = checksum(footer_body(footer_));
  file_.write({reinterpret_cast<const char*>(&footer_), sizeof(footer_)});
  file_.commit();
}

Corpus Corpus::open(const fs::path& path) {
  Corpus corpus{MappedFile(path)};
  const std::string_view bytes = corpus.file_.bytes();
  require(bytes.starts_with(std::string_view(kHeader, sizeof(kHeader) - 1)),
          "{}: not a corpus; \"residual prepare\" writes them", path.string());
  require(bytes[sizeof(kHeader) - 1] == '1',
          "{}: a corpus of another format version; this program reads version 1: prepare it again",
          path.string());
  if (bytes.size() < sizeof(kHeader) + sizeof(CorpusFooter)) corpus.damaged("it has no footer");
  std::memcpy(&corpus.footer_, bytes.data() + bytes.size() - sizeof(CorpusFooter),
              sizeof(CorpusFooter));
  corpus.check_footer();
  const CorpusFooter& footer = corpus.footer_;
  corpus.ids_ = bytes.data() + footer.ids.offset;
  corpus.boundaries_ = reinterpret_cast<const uint64_t*>(bytes.data() + footer.boundaries.offset);
  corpus.lines_ = reinterpret_cast<const uint64_t*>(bytes.data() + footer.lines.offset);
  corpus.id_count_ = footer.ids.bytes / footer.id_bytes;
  return corpus;
}

// After this every pointer into a section is inside the file and aligned.
void Corpus::check_footer() const {
  const CorpusFooter& footer = footer_;
  if (std::memcmp(footer.magic, kFooterMagic, sizeof(kFooterMagic)) != 0) {
    damaged("it does not end with a footer");
  }
  if (footer.checksum != residual::checksum(footer_body(footer))) {
    damaged("its footer does not match its checksum");
  }
  const uint64_t end = file_.bytes().size() - sizeof(CorpusFooter);
  for (const auto& section : {footer.ids, footer.boundaries, footer.lines}) {
    if (section.offset > end || section.bytes > end - section.offset ||
        section.offset % kAlignment != 0) {
      damaged("a section extends past its end");
    }
  }
  const bool consistent =
      (footer.id_bytes == 2 || footer.id_bytes == 4) && footer.pairs <= end / 16 &&
      footer.source_tokens <= end && footer.target_tokens <= end &&
      footer.ids.bytes == (footer.source_tokens + footer.target_tokens) * footer.id_bytes &&
      footer.boundaries.bytes == (2 * footer.pairs + 1) * sizeof(uint64_t) &&
      footer.lines.bytes == footer.pairs * sizeof(uint64_t) &&
      footer.source_language[sizeof(footer.source_language) - 1] == 0 &&
      footer.target_language[sizeof(footer.target_language) - 1] == 0;
  if (!consistent) damaged("its footer contradicts itself");
  const auto next = [](const CorpusFooter::Section& section) {
    return (section.offset + section.bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  const bool is_whole = footer.ids.offset == sizeof(kHeader) &&
                        footer.boundaries.offset == next(footer.ids) &&
                        footer.lines.offset == next(footer.boundaries) && end == next(footer.lines);
  if (!is_whole) damaged("it has bytes outside all sections");
  const uint64_t padding = footer.ids.offset + footer.ids.bytes;
  const auto zeros = file_.bytes().substr(padding, footer.boundaries.offset - padding);
  if (zeros.find_first_not_of('\0') != zeros.npos) damaged("its padding is not zero");
}

void Corpus::append(int64_t pair, std::vector<int32_t>& source,
                    std::vector<int32_t>& target) const {
  const Bounds at = bounds(pair);
  const uint32_t source_id = view(at, false).append_to(source);
  const uint32_t target_id = view(at, true).append_to(target);
  if (source_id >= footer_.source_id_limit || target_id >= footer_.target_id_limit) {
    damaged(fmt::format("pair {} has an id outside its vocabulary", pair));
  }
}

uint64_t Corpus::line(int64_t pair) const {
  assert(pair >= 0 && pair < size());
  return lines_[pair];
}

void Corpus::require_vocabularies(uint64_t source_hash, uint64_t target_hash) const {
  const auto check = [&](const char* side, uint64_t made_with, uint64_t given) {
    require(made_with == given,
            "{}: made with a {} vocabulary ({}) other than the one given ({}); use the vocabulary "
            "of the directory it was prepared in, or prepare it again",
            path().string(), side, to_hex(made_with), to_hex(given));
  };
  check("source", footer_.source_vocabulary_hash, source_hash);
  check("target", footer_.target_vocabulary_hash, target_hash);
}

void Corpus::check_sums(const std::function<void(uint64_t)>& read) const {
  constexpr size_t kPart = 16 << 20;
  const auto check = [&](const char* name, const CorpusFooter::Section& section) {
    std::string_view left = file_.bytes().substr(section.offset, section.bytes);
    Checksum sum;
    while (!left.empty()) {
      const std::string_view part = left.substr(0, kPart);
      sum.add(part);
      left.remove_prefix(part.size());
      if (read) read(part.size());
    }
    if (sum.value() != section.checksum) {
      damaged(fmt::format("its {} have checksum {} instead of {}", name, to_hex(sum.value()),
                          to_hex(section.checksum)));
    }
  };
  check("ids", footer_.ids);
  check("boundaries", footer_.boundaries);
  check("line numbers", footer_.lines);
}

void Corpus::verify() const {
  check_sums();
  uint64_t source_tokens = 0, next = 0;
  std::vector<int32_t> source, target;
  for (int64_t pair = 0; pair < size(); ++pair) {
    const Bounds at = bounds(pair);
    if (at.source != next) damaged_entry(pair);
    next = at.end;
    source_tokens += at.target - at.source;
    source.clear();
    target.clear();
    append(pair, source, target);
  }
  if (next != id_count_ || boundaries_[2 * size()] != id_count_ ||
      source_tokens != footer_.source_tokens) {
    damaged("its index does not cover its ids");
  }
}

void Corpus::damaged(const std::string& what) const {
  fail("{}: damaged corpus: {}; prepare it again", path().string(), what);
}

void Corpus::damaged_entry(int64_t pair) const {
  damaged(fmt::format("the index entry of pair {} is not valid", pair));
}

}  // namespace residual::data
