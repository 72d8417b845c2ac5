#include "text/string_table.h"

#include "base/checksum.h"
#include "base/error.h"

namespace residual::text {
namespace {

uint32_t hash_of(std::string_view string) { return static_cast<uint32_t>(checksum(string)); }

}  // namespace

uint32_t StringTable::find(std::string_view string) const {
  const uint32_t hash = hash_of(string);
  const auto same = [&](const Slot& slot) {
    return slot.hash == hash && slot.id != kAbsent && (*this)[slot.id] == string;
  };
  return table_.find(hash, same).id;
}

uint32_t StringTable::add(std::string_view string) {
  const uint32_t hash = hash_of(string);
  const auto same = [&](const Slot& slot) {
    return slot.hash == hash && slot.id != kAbsent && (*this)[slot.id] == string;
  };
  const auto append = [&] {
    require(size() < kAbsent - 1, "more than {} different strings", kAbsent - 1);
    const uint32_t id = size();
    bytes_ += string;
    begins_.push_back(bytes_.size());
    return Slot{.hash = hash, .id = id};
  };
  return table_.find_or_insert(hash, same, append).id;
}

void StringTable::reserve(size_t strings, size_t bytes) {
  table_.reserve(strings);
  begins_.reserve(strings + 1);
  bytes_.reserve(bytes);
}

void StringTable::clear() {
  table_.clear();
  begins_.resize(1);
  bytes_.clear();
}

}  // namespace residual::text
