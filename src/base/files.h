#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace residual {

namespace fs = std::filesystem;

// The calls that make a file durable, behind an interface in which a test can make any of them
// fail or stop. Each throws Error naming the path and the system's reason.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  int create(const fs::path& path) { return create(path, path); }   // for writing; must not exist
  virtual int create(const fs::path& path, const fs::path& shown);  // what its errors name
  virtual void write(int file, const fs::path& path, std::string_view bytes);
  virtual void sync(int file, const fs::path& path);
  virtual void close(int file, const fs::path& path);
  virtual void rename(const fs::path& from, const fs::path& to);
  virtual void exchange(const fs::path& a, const fs::path& b);  // swaps two names in one step
  // The same where the file system cannot: there is a moment without b, but never a wrong one. Who
  // is killed then leaves it aside, under a name that nobody removes.
  void exchange_in_turn(const fs::path& a, const fs::path& b);
  virtual void sync_directory(const fs::path& directory);
  virtual void remove(const fs::path& path) noexcept;

  static FileSystem& real();
};

// A file that replaces `path` whole or not at all, even if the machine loses power: bytes go to a
// temporary neighbour, which commit() syncs, renames, and whose directory it syncs. Without
// commit() the destructor removes the neighbour and `path` stays what it was; neighbours that dead
// processes left are removed by the next one: a lock tells whether their owner lives, even where
// process numbers mean nothing, between containers. A link is followed. What is not a regular file
// (a device, a pipe) is written to as it stands.
class AtomicFile {
 public:
  explicit AtomicFile(fs::path path, FileSystem& system = FileSystem::real());
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);  // buffered
  uint64_t size() const { return size_; }
  void commit();

 private:
  void open_temporary(const std::string& prefix);
  void flush();

  FileSystem& system_;
  fs::path path_;
  fs::path temporary_;  // empty: written in place, or committed
  int file_ = -1;
  int lock_ = -1;  // of the temporary, until it is renamed
  std::string buffer_;
  uint64_t size_ = 0;
};

// AtomicFile in one call.
void replace_file(const fs::path& path, std::string_view content,
                  FileSystem& system = FileSystem::real());

std::string read_file(const fs::path& path);

// Whether it names a file in some directory, and can name none outside of it.
bool is_file_name(const std::string& name);

// A directory that appears whole or not at all: files are written into path() and commit() syncs
// them and renames it to `target`, which must not exist, then and now. With `replace` it may, if it
// is empty or holds a file called `marker`: then it is an earlier result, and gives way in one
// step. Without commit() the destructor removes path(). What a killed process left behind is named
// ".<target>.partial-<pid>-<random>" and is removed by the next one; a lock tells whether its owner
// lives.
class AtomicDirectory {
 public:
  AtomicDirectory(const fs::path& target, bool replace, const std::string& marker,
                  FileSystem& system = FileSystem::real());
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const fs::path& path() const { return partial_; }
  void commit();

 private:
  void open_partial(const std::string& prefix);
  bool gives_way() const;  // what stands at the target; an Error if it must not

  FileSystem& system_;
  fs::path target_, partial_;
  bool replace_;
  std::string marker_;
  int lock_ = -1;
  bool committed_ = false;
};

// A whole file in memory, read-only, without reading it.
class MappedFile {
 public:
  enum class Descriptor { close, keep };

  explicit MappedFile(const fs::path& path, Descriptor descriptor = Descriptor::close);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::string_view bytes() const { return {data_, size_}; }
  const fs::path& path() const { return path_; }

  // Copies `part` of bytes(). With a descriptor kept it is read: a page of the mapping that was
  // touched counts as memory of the process from then on, and often brings its neighbours along.
  void copy(std::string_view part, char* into) const noexcept;

 private:
  fs::path path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  int file_ = -1;
};

// Fails with the missing and the available amount when the file system that holds (or will hold)
// `path` has fewer than `bytes` free.
void require_disk_space(const fs::path& path, uint64_t bytes);

// Fails when a file cannot be created in `directory` (or in the nearest ancestor that exists).
void require_writable(const fs::path& directory);

}  // namespace residual
