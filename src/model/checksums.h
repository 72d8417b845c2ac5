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

// Computes the BlockChecksum of mapped bytes while others already use them: a thread begins, and
// whoever needs the result helps to complete it.
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
  // From any thread.
  uint64_t value();

 private:
  void compute(size_t block);
  void work();

  std::string_view bytes_;
  Options options_;
  // A waiting thread computes a block again that another has begun and not completed, since that
  // one may not run for long.
  struct Block {
    std::atomic<uint64_t> checksum = 0;
    std::atomic<bool> is_done = false;
  };
  std::vector<Block> blocks_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::optional<uint64_t> value_;  // guarded by mutex_
};

}  // namespace residual::model
