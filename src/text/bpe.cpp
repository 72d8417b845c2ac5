#include "text/bpe.h"

#include <algorithm>
#include <numeric>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "text/bpe_learner.h"
#include "text/whitespace.h"

namespace residual::text {
namespace {

constexpr std::string_view kEndOfWord = "</w>";
constexpr uint32_t kNone = UINT32_MAX;

// The cache is cleared when it holds this many words or bytes: a larger one is not faster.
constexpr uint32_t kCacheWords = 1 << 17;
constexpr size_t kCacheBytes = 4 << 20;
constexpr size_t kCachedWordBytes = 256;

// With dropout, merges do not cross multiples of this many characters: each step scans the whole
// word, and a "word" may be megabytes long.
constexpr uint32_t kDropoutSpan = 1024;

std::string_view strip(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\r')) text.remove_prefix(1);
  return text;
}

// Takes a header off the codes; false for version 0.1.
bool read_version(std::string_view& codes, const std::string& name) {
  if (!codes.starts_with("#version:")) return false;
  const size_t end = std::min(codes.find('\n'), codes.size());
  const std::string_view version = strip(codes.substr(9, end - 9));
  codes.remove_prefix(std::min(end + 1, codes.size()));
  require(version == "0.1" || version == "0.2",
          R"({}:1: expected "#version: 0.1" or "#version: 0.2", got version "{}")", name,
          version.substr(0, 40));
  return version == "0.2";
}

}  // namespace

Bpe::Bpe(std::string_view codes, const std::string& name, BpeOptions options)
    : options_(std::move(options)), glossary_(options_.glossaries) {
  codes = without_byte_order_mark(codes);
  require(!codes.empty(), "{}: is empty; a BPE codes file has at least a version line", name);
  const size_t bad = find_invalid_utf8(codes);
  size_t number = 1;
  if (bad != std::string_view::npos) {
    number += static_cast<size_t>(
        std::count(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(bad), '\n'));
    fail("{}:{}: not valid UTF-8; is it a BPE codes file?", name, number);
  }
  if (codes.starts_with("#version:")) ++number;
  glues_end_of_word_ = read_version(codes, name);
  while (codes.ends_with('\n')) codes.remove_suffix(1);

  std::string joined;
  std::unordered_map<uint32_t, size_t> latest;  // rank of a pair -> line where it last stands
  for (; !codes.empty(); ++number) {
    if (options_.merges >= 0 && merges_.size() >= static_cast<size_t>(options_.merges)) break;
    const size_t end = std::min(codes.find('\n'), codes.size());
    const std::string_view line = strip(codes.substr(0, end));
    codes.remove_prefix(std::min(end + 1, codes.size()));
    const size_t space = line.find(' ');
    require(space != std::string_view::npos && line.find(' ', space + 1) == std::string_view::npos,
            "{}:{}: expected two symbols separated by one space, got \"{}\"", name, number,
            line.substr(0, 80));
    const uint32_t left = symbols_.add(line.substr(0, space));
    const uint32_t right = symbols_.add(line.substr(space + 1));
    const uint32_t merged = symbols_.add(joined.assign(line, 0, space).append(line, space + 1));
    const uint32_t rank = ranks_.add(left, right, static_cast<uint32_t>(merges_.size()));
    merges_.push_back({.left = left, .right = right, .merged = merged});
    latest[rank] = number;
  }
  // Of two pairs that make one symbol, undoing takes the one whose last line comes first.
  for (const auto& [rank, line] : latest) {
    const auto [at, is_new] = origin_.try_emplace(merges_[rank].merged, rank);
    if (!is_new && line < latest[at->second]) at->second = rank;
  }
}

Bpe Bpe::load(const fs::path& codes, BpeOptions options) {
  return {read_file(codes), codes.string(), std::move(options)};
}

BpeTransform::BpeTransform(std::shared_ptr<const Bpe> bpe)
    : bpe_(std::move(bpe)), glossary_(bpe_->glossary_) {}

void BpeTransform::operator()(std::string_view line, std::string& out) {
  if (bpe_->options_.dropout > 0) {
    stream_ = checksum(line) ^ number_;
    draws_ = 0;
  }
  size_t start = 0;
  for (size_t at = 0; at < line.size();) {
    const auto byte = static_cast<unsigned char>(line[at]);
    const bool may_end = byte < 0x20 || byte == 0xC2 || byte == 0xE2;
    const size_t length = may_end ? line_end_at(line, at) : 0;
    at += std::max<size_t>(length, 1);
    if (length > 0) {
      append_part(line.substr(start, at - start), out);
      start = at;
    }
  }
  append_part(line.substr(start), out);
}

void BpeTransform::append_part(std::string_view part, std::string& out) {
  const std::string_view words = strip(part);
  const size_t leading =
      words.empty() ? part.size() : static_cast<size_t>(words.data() - part.data());
  out += part.substr(0, leading);
  bool is_first = true;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (end > at) {
      if (!is_first) out += ' ';
      is_first = false;
      append_word(words.substr(at, end - at), out);
    }
    at = end + 1;
  }
  if (!words.empty()) out += part.substr(leading + words.size());
}

void BpeTransform::append_word(std::string_view word, std::string& out) {
  if (bpe_->options_.dropout > 0 || word.size() > kCachedWordBytes) {
    append_segments(word, out);
    return;
  }
  if (words_.size() >= kCacheWords || words_.bytes() + segmented_.size() >= kCacheBytes) {
    words_.clear();
    ends_.clear();
    segmented_.clear();
  }
  const uint32_t id = words_.add(word);
  if (id == ends_.size()) {
    append_segments(word, segmented_);
    ends_.push_back(segmented_.size());
  }
  const size_t begin = id == 0 ? 0 : ends_[id - 1];
  out.append(segmented_, begin, ends_[id] - begin);
}

void BpeTransform::append_segments(std::string_view word, std::string& out) {
  pieces_.clear();
  if (bpe_->glossary_.empty()) {
    split(word);
  } else {
    for (const std::string& segment : glossary_.isolate(word)) split(segment);
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (i > 0) out.append(bpe_->options_.separator) += ' ';
    out += pieces_[i];
  }
}

// Appends the segment's pieces to pieces_.
void BpeTransform::split(std::string_view segment) {
  if (glossary_.contains(segment)) {
    pieces_.emplace_back(segment);
    return;
  }
  size_t first = 0;
  next_code_point(segment, first);
  if (first == segment.size()) {
    pieces_.emplace_back(segment);
    return;
  }
  read_characters(segment);
  if (bpe_->options_.dropout > 0) {
    merge_with_dropout();
  } else {
    merge_by_rank();
  }
  const size_t begin = pieces_.size();
  for (uint32_t node = 0; node != kNone; node = nodes_[node].next) {
    const Node& n = nodes_[node];
    // Version 0.1: an end of word that merged with nothing.
    if (n.begin < n.end) pieces_.emplace_back(segment.substr(n.begin, n.end - n.begin));
  }
  if (bpe_->options_.vocabulary && bpe_->options_.vocabulary->size() > 0) {
    std::vector<std::string> whole(
        std::make_move_iterator(pieces_.begin() + static_cast<std::ptrdiff_t>(begin)),
        std::make_move_iterator(pieces_.end()));
    pieces_.resize(begin);
    for (size_t i = 0; i < whole.size(); ++i)
      restrict_piece(whole[i], i + 1 == whole.size(), pieces_);
  }
}

void BpeTransform::read_characters(std::string_view segment) {
  require(segment.size() < UINT32_MAX, "a word of {} bytes cannot be segmented; the limit is 4 GiB",
          segment.size());
  const StringTable& symbols = bpe_->symbols_;
  nodes_.clear();
  const auto push = [&](std::string_view symbol, size_t begin, size_t end) {
    const auto id = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({.symbol = symbols.find(symbol),
                      .begin = static_cast<uint32_t>(begin),
                      .end = static_cast<uint32_t>(end),
                      .previous = id - 1,
                      .next = id + 1});
  };
  for (size_t at = 0; at < segment.size();) {
    const size_t begin = at;
    next_code_point(segment, at);
    const std::string_view character = segment.substr(begin, at - begin);
    if (at == segment.size() && bpe_->glues_end_of_word_) {
      push(scratch_.assign(character).append(kEndOfWord), begin, at);
    } else {
      push(character, begin, at);
    }
  }
  if (!bpe_->glues_end_of_word_) push(kEndOfWord, segment.size(), segment.size());
  nodes_.back().next = kNone;
}

// Returns the rank of the pair that starts at a node, or kNone if it is not a merge.
uint32_t BpeTransform::rank_at(uint32_t node) const {
  const uint32_t next = nodes_[node].next;
  if (next == kNone) return kNone;
  const uint32_t left = nodes_[node].symbol, right = nodes_[next].symbol;
  if (left == kNone || right == kNone) return kNone;
  return bpe_->ranks_.find(left, right);
}

// Merges a node with the one after it, which leaves the list.
void BpeTransform::join(uint32_t node, uint32_t symbol) {
  Node& left = nodes_[node];
  Node& right = nodes_[left.next];
  left.symbol = symbol;
  left.end = right.end;
  left.next = right.next;
  if (left.next != kNone) nodes_[left.next].previous = node;
  right.symbol = kNone;
  right.next = kNone;
}

// Again and again the pair of lowest rank, at all its places from left to right. Pairs that arise
// meanwhile wait until all places are done: one may have a lower rank still.
void BpeTransform::merge_by_rank() {
  const auto is_later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.node > b.node;
  };
  heap_.clear();
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (const uint32_t rank = rank_at(node); rank != kNone) heap_.push_back({rank, node});
  }
  std::make_heap(heap_.begin(), heap_.end(), is_later);
  const auto offer = [&](uint32_t node) {
    if (const uint32_t rank = rank_at(node); rank != kNone) {
      heap_.push_back({rank, node});
      std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
  };
  while (!heap_.empty()) {
    const uint32_t rank = heap_.front().rank;
    batch_.clear();
    while (!heap_.empty() && heap_.front().rank == rank) {
      std::pop_heap(heap_.begin(), heap_.end(), is_later);
      const Candidate candidate = heap_.back();
      heap_.pop_back();
      if (rank_at(candidate.node) != rank) continue;  // gone, or merged with another neighbour
      join(candidate.node, bpe_->merges_[rank].merged);
      batch_.push_back(candidate);
    }
    for (const Candidate& merged : batch_) {
      offer(merged.node);
      const uint32_t previous = nodes_[merged.node].previous;
      if (previous != kNone) offer(previous);
    }
  }
}

// Merges by rank, with each place dropped at random in each step, until none is left.
void BpeTransform::merge_with_dropout() {
  for (size_t begin = 0; begin < nodes_.size(); begin += kDropoutSpan) {
    while (dropout_step(static_cast<uint32_t>(begin))) continue;
  }
}

// One step in the characters from `begin`; false if all places were dropped.
bool BpeTransform::dropout_step(uint32_t begin) {
  const Random random(bpe_->options_.seed, stream_);
  const auto is_inside = [&](uint32_t node) {
    return node != kNone && node - begin < kDropoutSpan;
  };
  uint32_t best = kNone;
  batch_.clear();
  for (uint32_t node = begin; is_inside(nodes_[node].next); node = nodes_[node].next) {
    const uint32_t rank = rank_at(node);
    if (rank == kNone || random.uniform(draws_++) < bpe_->options_.dropout) continue;
    batch_.push_back({rank, node});
    best = std::min(best, rank);
  }
  for (const Candidate& candidate : batch_) {
    if (candidate.rank == best && rank_at(candidate.node) == best) {
      join(candidate.node, bpe_->merges_[best].merged);
    }
  }
  return best != kNone;
}

// Undoes merges until all pieces are in the vocabulary or are single characters.
void BpeTransform::restrict_piece(const std::string& piece, bool is_final,
                                  std::vector<std::string>& out) const {
  const StringTable& symbols = bpe_->symbols_;
  const auto is_known = [&](const std::string& text, bool ends_word) {
    return bpe_->options_.vocabulary->find(ends_word ? text : text + bpe_->options_.separator) !=
           StringTable::kAbsent;
  };
  if (is_known(piece, is_final)) {
    out.push_back(piece);
    return;
  }
  const uint32_t symbol = symbols.find(is_final ? piece + std::string(kEndOfWord) : piece);
  const auto origin = bpe_->origin_.find(symbol);
  if (symbol == StringTable::kAbsent || origin == bpe_->origin_.end()) {
    out.push_back(piece);
    return;
  }
  const Bpe::Merge& merge = bpe_->merges_[origin->second];
  std::string_view right = symbols[merge.right];
  if (is_final) {
    if (!right.ends_with(kEndOfWord)) {
      out.push_back(piece);
      return;
    }
    right.remove_suffix(kEndOfWord.size());
  }
  restrict_piece(std::string(symbols[merge.left]), false, out);
  restrict_piece(std::string(right), is_final, out);
}

LineTransform bpe_transform(std::shared_ptr<const Bpe> bpe) {
  return [transform = std::make_shared<BpeTransform>(std::move(bpe))](
             std::string_view line, std::string& out) { (*transform)(line, out); };
}

StringTable read_bpe_vocabulary(const fs::path& file, uint64_t threshold) {
  StringTable words;
  for_each_word_count(file, Invalid::refuse, [&](std::string_view word, uint64_t count) {
    if (count >= threshold) words.add(word);
  });
  return words;
}

void undo_bpe(std::string_view line, std::string_view separator, std::string& out) {
  const size_t start = out.size();
  size_t done = 0;
  if (!separator.empty()) {
    for (size_t at = 0; (at = line.find(separator, at)) != std::string_view::npos;) {
      const size_t end = at + separator.size();
      if (end < line.size() && line[end] != ' ') {
        ++at;
        continue;
      }
      out += line.substr(done, at - done);
      at = done = std::min(end + 1, line.size());
    }
  }
  out += line.substr(done);
  out.resize(start + without_trailing_whitespace(std::string_view(out).substr(start)).size());
}

}  // namespace residual::text
