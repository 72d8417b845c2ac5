#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"

// The checksums of a directory's files, in a file beside them; docs/formats.md describes its lines.
namespace residual::model {

inline constexpr const char* kChecksumsFile = "checksums.txt";

class Checksums {
 public:
  struct Entry {
    uint64_t bytes, checksum;
  };

  // Returns nothing if the directory has no checksums.txt, as models of other programs and of older
  // versions. Throws an Error if the file itself is damaged.
  static std::optional<Checksums> load(const fs::path& directory);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool contains(const std::string& file) const { return entries_.contains(file); }

  // Throws an Error that names the file unless it is listed with the size and checksum of `bytes`.
  void check(const std::string& file, std::string_view bytes) const;
  // Returns the entry of a file that must be listed.
  const Entry& at(const std::string& file) const;
  // Throws the Error about a file that differs from its entry.
  [[noreturn]] void fail_changed(const std::string& file) const;

 private:
  fs::path directory_;
  std::map<std::string, Entry> entries_;
};

// Writes checksums.txt for all other files that the directory has now.
void write_checksums(const fs::path& directory, FileSystem& system = FileSystem::real());

// Throws an Error that names the file if a checksums.txt beside it says that it was changed. A file
// that no checksums.txt lists passes.
void check_listed(const fs::path& file);

// Returns the content of a file that passes check_listed().
std::string read_listed(const fs::path& file);

// Computes the BlockChecksum of mapped bytes while others already use them. A thread begins. Once
// read() is called it leaves all but `released` to the callers, whose bytes are in their caches:
// memory limits translation, and a second pass through it would take time from the first. Whoever
// needs the result computes what is left.
class BlockCheck {
 public:
  struct Options {
    std::string_view zeros = {};     // a part of the bytes that counts as characters '0'
    std::string_view released = {};  // a part whose pages do not stay in memory
  };

  // `bytes` must outlive the object.
  explicit BlockCheck(std::string_view bytes) : BlockCheck(bytes, Options()) {}
  BlockCheck(std::string_view bytes, const Options& options);
  ~BlockCheck();
  BlockCheck(const BlockCheck&) = delete;
  BlockCheck& operator=(const BlockCheck&) = delete;

  void start();
  // From any thread, as all below. The caller has just read `part` of the bytes.
  void read(std::string_view part);
  uint64_t value();

 private:
  void compute(size_t block);
  // False: there was no block left to begin with.
  bool compute_next();
  bool is_done(size_t block) const {
    return blocks_[block].is_done.load(std::memory_order_acquire);
  }
  std::string_view bytes_of(size_t block) const;

  std::string_view bytes_;
  Options options_;
  // A waiting thread computes a block again that another has begun and not completed, since that
  // one may not run for long.
  struct Block {
    std::atomic<uint64_t> checksum = 0;
    std::atomic<bool> is_done = false;
    std::atomic<size_t> read = 0;  // bytes, those that were read twice counted twice
  };
  std::vector<Block> blocks_;
  std::vector<size_t> order_;     // of the blocks: those in `released` first
  size_t released_ = 0;           // their number
  std::atomic<size_t> next_ = 0;  // in order_
  std::atomic<bool> is_read_ = false;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> is_complete_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::optional<uint64_t> value_;  // guarded by mutex_
};

}  // namespace residual::model
