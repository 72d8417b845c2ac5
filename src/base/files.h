#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace residual {

namespace fs = std::filesystem;

// The file operations that make a file durable. Tests override them to make any operation fail or
// stop. Each throws an Error with the path and the system's reason.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  int create(const fs::path& path) { return create(path, path); }   // a new file, for writing
  virtual int create(const fs::path& path, const fs::path& shown);  // `shown` is the path in errors
  virtual void write(int file, const fs::path& path, std::string_view bytes);
  virtual void sync(int file, const fs::path& path);
  virtual void close(int file, const fs::path& path);
  virtual void rename(const fs::path& from, const fs::path& to);
  virtual void exchange(const fs::path& a, const fs::path& b);  // swaps two names in one step
  // Swaps two names on file systems without an atomic exchange. For a moment b does not exist, but
  // b is never wrong. A process killed at that moment leaves b under a temporary name that is not
  // cleaned up.
  void exchange_in_turn(const fs::path& a, const fs::path& b);
  virtual void sync_directory(const fs::path& directory);
  virtual void remove(const fs::path& path) noexcept;

  static FileSystem& real();
};

// A file that replaces `path` completely or not at all, even if the machine loses power:
//
// - Bytes go to a temporary file in the same directory. commit() syncs it, renames it and syncs the
//   directory.
// - Without commit() the destructor removes the temporary file, and `path` is unchanged.
// - The next writer removes temporary files of dead processes. A lock tells whether the owner is
//   alive, even between containers, which do not share process numbers.
// - A symbolic link is followed. A path that is not a regular file (a device, a pipe) is written to
//   directly.
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
  int lock_ = -1;  // held on the temporary file until it is renamed
  std::string buffer_;
  uint64_t size_ = 0;
};

// Writes a whole AtomicFile in one call.
void replace_file(const fs::path& path, std::string_view content,
                  FileSystem& system = FileSystem::real());

std::string read_file(const fs::path& path);

// Returns whether `name` is a plain file name that cannot refer to a file outside its directory.
bool is_file_name(const std::string& name);

// A directory that appears complete or not at all:
//
// - Files are written into path(). commit() syncs them and renames path() to `target`.
// - `target` must not exist, neither at construction nor at commit(). With `replace` it may exist
//   if it is empty or holds a file called `marker`, which shows an earlier result; it is replaced
//   in one step.
// - Without commit() the destructor removes path().
// - A killed process leaves ".<target>.partial-<pid>-<random>". The next writer removes it; a lock
//   tells whether the owner is alive.
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
  bool gives_way() const;  // whether the target exists and may be replaced; throws if it must not

  FileSystem& system_;
  fs::path target_, partial_;
  bool replace_;
  std::string marker_;
  int lock_ = -1;
};

// A read-only memory mapping of a whole file.
class MappedFile {
 public:
  enum class Descriptor { close, keep };

  explicit MappedFile(const fs::path& path, Descriptor descriptor = Descriptor::close);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::string_view bytes() const { return {data_, size_}; }
  const fs::path& path() const { return path_; }

  // Copies `part` of bytes(). If the descriptor is kept, the copy is read from the file: a mapped
  // page counts as memory of the process once it is touched, and often brings its neighbours along.
  void copy(std::string_view part, char* into) const noexcept;

 private:
  fs::path path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  int file_ = -1;
};

// Throws an Error with the required and the available space if the file system that holds (or will
// hold) `path` has fewer than `bytes` free.
void require_disk_space(const fs::path& path, uint64_t bytes);

// Throws an Error if a file cannot be created in `directory` (or in its nearest existing ancestor).
void require_writable(const fs::path& directory);

}  // namespace residual
