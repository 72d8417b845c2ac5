#include "base/flat_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace residual {
namespace {

// Counts of keys that are not 0. Hashes fall on one another: probing has to tell keys apart.
struct Counts {
  struct Slot {
    uint64_t key = 0;
    int count = 0;
  };
  static bool is_free(const Slot& slot) { return slot.key == 0; }
  static uint64_t hash(const Slot& slot) { return hash_of(slot.key); }
  static uint64_t hash_of(uint64_t key) { return key & ~uint64_t{7}; }
};

template <class Table>
Counts::Slot& slot_of(Table& table, uint64_t key) {
  return table.find_or_insert(
      Counts::hash_of(key), [=](const Counts::Slot& slot) { return slot.key == key; },
      [=] { return Counts::Slot{.key = key}; });
}

template <class Table>
bool contains(const Table& table, uint64_t key) {
  return !table.is_free(
      table.find(Counts::hash_of(key), [=](const Counts::Slot& slot) { return slot.key == key; }));
}

TEST(FlatTable, CountsAsAMapDoes) {
  FlatTable<Counts> half(1);
  FlatTable<Counts, 3> three_quarters(16);
  std::map<uint64_t, int> expected;
  const Random random(1);
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t key = 1 + random.bits(i) % 5000;
    ++slot_of(half, key).count;
    ++slot_of(three_quarters, key).count;
    ++expected[key];
  }
  std::map<uint64_t, int> found;
  half.for_each([&](const Counts::Slot& slot) { found[slot.key] = slot.count; });
  EXPECT_EQ(found, expected);
  found.clear();
  three_quarters.for_each([&](const Counts::Slot& slot) { found[slot.key] = slot.count; });
  EXPECT_EQ(found, expected);
  EXPECT_EQ(half.size(), expected.size());
  for (uint64_t key = 5001; key < 6000; ++key) EXPECT_FALSE(contains(half, key));
}

TEST(FlatTable, MarksAnEntryOnceWhetherItIsNewOrNot) {
  FlatTable<Counts> marked(4), inserted(4);
  const Random random(2);
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t key = 1 + random.bits(i) % 500;
    marked.reserve(marked.size() + 1);
    ++marked
          .find_or_mark(
              Counts::hash_of(key), [=](const Counts::Slot& slot) { return slot.key == key; },
              [=](Counts::Slot& slot) { slot.key = key; })
          .count;
    ++slot_of(inserted, key).count;
  }
  EXPECT_EQ(marked.size(), inserted.size());
  std::map<uint64_t, int> found, expected;
  marked.for_each([&](const Counts::Slot& slot) { found[slot.key] = slot.count; });
  inserted.for_each([&](const Counts::Slot& slot) { expected[slot.key] = slot.count; });
  EXPECT_EQ(found, expected);
}

TEST(FlatTable, EntriesStayWhereTheyAreWithinWhatWasReserved) {
  FlatTable<Counts> table(4);
  table.reserve(100);
  const Counts::Slot* const first = &slot_of(table, 1);
  for (uint64_t key = 2; key <= 100; ++key) slot_of(table, key);
  EXPECT_EQ(&slot_of(table, 1), first);
}

TEST(FlatTable, HasNothingAfterClear) {
  FlatTable<Counts> table(4);
  for (uint64_t key = 1; key <= 100; ++key) slot_of(table, key).count = 7;
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  for (uint64_t key = 1; key <= 100; ++key) EXPECT_FALSE(contains(table, key));
  EXPECT_EQ(slot_of(table, 1).count, 0);
}

}  // namespace
}  // namespace residual
