#include "metrics/ngrams.h"

#include <algorithm>
#include <functional>
#include <utility>

// Both tables are open-addressed, at most half full, and emptied by starting a new round: they are
// refilled for every sentence.
namespace residual::metrics {
namespace {

size_t scramble(uint64_t key, size_t slots) {
  key *= 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  return static_cast<size_t>((key ^ key >> 32) & (slots - 1));
}

template <class Slot>
void start_round(std::vector<Slot>& slots, uint32_t& round) {
  if (++round == 0) {
    std::fill(slots.begin(), slots.end(), Slot{});
    round = 1;
  }
}

}  // namespace

void WordNumbers::clear() {
  words_.clear();
  start_round(slots_, round_);
}

size_t WordNumbers::slot_of(std::string_view word, uint64_t hash) const {
  size_t at = scramble(hash, slots_.size());
  while (slots_[at].round == round_ &&
         (slots_[at].hash != hash || words_[slots_[at].number] != word)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

uint32_t WordNumbers::find(std::string_view word) const {
  const Slot& slot = slots_[slot_of(word, std::hash<std::string_view>{}(word))];
  return slot.round == round_ ? slot.number : kUnknown;
}

uint32_t WordNumbers::add(std::string_view word) {
  const uint64_t hash = std::hash<std::string_view>{}(word);
  Slot& slot = slots_[slot_of(word, hash)];
  if (slot.round == round_) return slot.number;
  const auto number = static_cast<uint32_t>(words_.size());
  slot = {hash, number, round_};
  words_.push_back(word);
  if (2 * words_.size() > slots_.size()) grow();
  return number;
}

void WordNumbers::grow() {
  std::vector<Slot> old(2 * slots_.size());
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.round == round_) slots_[slot_of(words_[slot.number], slot.hash)] = slot;
  }
}

void NgramIndex::clear() {
  nodes_.assign(1, {});
  text_ = 0;
  start_round(slots_, round_);
}

size_t NgramIndex::slot_of(uint64_t key) const {
  size_t at = scramble(key, slots_.size());
  while (slots_[at].round == round_ && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

uint32_t NgramIndex::child(uint32_t node, uint32_t unit) const {
  const Slot& slot = slots_[slot_of(uint64_t{node} << 32 | unit)];
  return slot.round == round_ ? slot.child : kNone;
}

uint32_t NgramIndex::add_child(uint32_t node, uint32_t unit) {
  const uint64_t key = uint64_t{node} << 32 | unit;
  Slot& slot = slots_[slot_of(key)];
  if (slot.round == round_) return slot.child;
  const auto added = static_cast<uint32_t>(nodes_.size());
  slot = {key, added, round_};
  nodes_.emplace_back();
  if (2 * nodes_.size() > slots_.size()) grow();
  return added;
}

void NgramIndex::grow() {
  std::vector<Slot> old(2 * slots_.size());
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.round == round_) slots_[slot_of(slot.key)] = slot;
  }
}

uint32_t NgramIndex::count(uint32_t node) {
  Node& n = nodes_[node];
  if (n.text != text_) {
    n.text = text_;
    n.seen = 0;
  }
  return ++n.seen;
}

void NgramIndex::add(std::span<const uint32_t> units, int order) {
  ++text_;
  for (size_t start = 0; start < units.size(); ++start) {
    const size_t end = std::min(units.size(), start + static_cast<size_t>(order));
    uint32_t node = 0;
    for (size_t at = start; at < end; ++at) {
      node = add_child(node, units[at]);
      const uint32_t seen = count(node);
      nodes_[node].limit = std::max(nodes_[node].limit, seen);
    }
  }
}

void NgramIndex::match(std::span<const uint32_t> units, std::span<int64_t> matches) {
  ++text_;
  std::fill(matches.begin(), matches.end(), 0);
  for (size_t start = 0; start < units.size(); ++start) {
    uint32_t node = 0;
    for (size_t n = 0; n < matches.size() && start + n < units.size(); ++n) {
      node = child(node, units[start + n]);
      if (node == kNone) break;  // no longer n-gram from here occurs either
      if (count(node) <= nodes_[node].limit) ++matches[n];
    }
  }
}

}  // namespace residual::metrics
