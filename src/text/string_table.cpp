#include "text/string_table.h"

#include <algorithm>
#include <bit>

#include "base/checksum.h"
#include "base/error.h"

namespace residual::text {
namespace {

uint32_t hash_of(std::string_view string) { return static_cast<uint32_t>(checksum(string)); }

}  // namespace

// The slot that holds the string, or the free one where it belongs.
size_t StringTable::slot_of(std::string_view string, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].id != kAbsent &&
         (slots_[at].hash != hash || (*this)[slots_[at].id] != string)) {
    at = (at + 1) & mask;
  }
  return at;
}

uint32_t StringTable::find(std::string_view string) const {
  return slots_[slot_of(string, hash_of(string))].id;
}

uint32_t StringTable::add(std::string_view string) {
  const uint32_t hash = hash_of(string);
  size_t at = slot_of(string, hash);
  if (slots_[at].id != kAbsent) return slots_[at].id;
  require(size() < kAbsent - 1, "more than {} different strings", kAbsent - 1);
  if (size_t{size()} * 2 >= slots_.size()) {
    resize(slots_.size() * 2);
    at = slot_of(string, hash);
  }
  slots_[at] = {.hash = hash, .id = size()};
  bytes_ += string;
  begins_.push_back(bytes_.size());
  return slots_[at].id;
}

void StringTable::resize(size_t slots) {
  std::vector<Slot> old(slots);
  std::swap(old, slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kAbsent) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id != kAbsent) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void StringTable::reserve(size_t strings, size_t bytes) {
  const size_t slots = std::bit_ceil(2 * strings + 1);
  if (slots > slots_.size()) resize(slots);
  begins_.reserve(strings + 1);
  bytes_.reserve(bytes);
}

void StringTable::clear() {
  std::fill(slots_.begin(), slots_.end(), Slot{});
  begins_.resize(1);
  bytes_.clear();
}

}  // namespace residual::text
