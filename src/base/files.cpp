#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/partial_files.h"

namespace residual {
namespace {

// Size and alignment of each write: a huge page. File systems that support them then keep the file
// in huge pages, and mapping it takes a hundredth of the page faults.
constexpr size_t kBufferBytes = 2 << 20;

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path nearest_existing(fs::path path) {
  std::error_code ignored;
  path = fs::absolute(path);
  while (!fs::exists(path, ignored) && path != path.parent_path()) path = path.parent_path();
  return path;
}

// "a/b/" and "a/b" name the same directory; only the latter has a file name.
fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// What a file or directory that is not complete yet is called, up to its owner's process number.
std::string partial_prefix(const fs::path& path) {
  return fmt::format(".{}.partial-", path.filename().string());
}

// No name that any process has given, as numbers of processes may be the same in two containers.
std::string unique_name(const std::string& partial_prefix) {
  return fmt::format("{}{}-{:08x}", partial_prefix, ::getpid(), std::random_device()());
}

// Returns the descriptor that "/dev/stdout" or "/dev/fd/63" names, an open file to be written from
// its current position, or -1 for other paths.
int open_descriptor(const fs::path& path) {
  const std::string name = path.lexically_normal();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(directory)) continue;
    int number = -1;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + directory.size(), end, number);
    if (error == std::errc() && rest == end) return number;
  }
  return -1;
}

bool is_mount_point(const fs::path& directory) {
  struct stat own = {}, parent = {};
  return ::stat(directory.c_str(), &own) == 0 && ::stat((directory / "..").c_str(), &parent) == 0 &&
         own.st_dev != parent.st_dev;
}

// Opens and locks a file or directory. Returns -1 if another process has locked it. The kernel
// drops the lock with the process.
int lock(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    return -1;
  }
  return file;
}

}  // namespace

FileSystem& FileSystem::real() {
  static FileSystem instance;
  return instance;
}

int FileSystem::create(const fs::path& path, const fs::path& shown) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail_errno(shown, "cannot create");
  return file;
}

void FileSystem::write(int file, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(path, "cannot write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void FileSystem::sync(int file, const fs::path& path) {
  if (::fsync(file) != 0) fail_errno(path, "cannot sync to disk");
}

void FileSystem::close(int file, const fs::path& path) {
  if (::close(file) != 0) fail_errno(path, "cannot close");
}

void FileSystem::rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_errno(to, "cannot rename into place");
}

void FileSystem::exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail_errno(b, "cannot rename into place");
  exchange_in_turn(a, b);
}

void FileSystem::exchange_in_turn(const fs::path& a, const fs::path& b) {
  const fs::path aside =
      directory_of(b) / fmt::format(".{}.replaced-{}", b.filename().string(), ::getpid());
  rename(b, aside);
  try {
    rename(a, b);
  } catch (...) {
    ::rename(aside.c_str(), b.c_str());
    throw;
  }
  rename(aside, a);
}

void FileSystem::sync_directory(const fs::path& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail_errno(directory, "cannot open directory");
  const bool ok = ::fsync(file) == 0;
  const int code = errno;
  ::close(file);
  errno = code;
  if (!ok) fail_errno(directory, "cannot sync to disk");
}

void FileSystem::remove(const fs::path& path) noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

AtomicFile::AtomicFile(fs::path path, FileSystem& system)
    : system_(system), path_(std::move(path)) {
  std::error_code ignored;
  if (const int open = open_descriptor(path_); open >= 0) {
    file_ = ::fcntl(open, F_DUPFD_CLOEXEC, 0);
    if (file_ < 0) fail_errno(path_, "cannot open");
    return;
  }
  if (fs::is_symlink(path_, ignored)) path_ = fs::weakly_canonical(path_);
  require(!fs::is_directory(path_, ignored), "{}: is a directory", path_.string());
  if (fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail_errno(path_, "cannot open");
    return;
  }
  const fs::path directory = directory_of(path_);
  require(fs::is_directory(directory, ignored), "{}: the directory {} does not exist",
          path_.string(), directory.string());
  const std::string prefix = partial_prefix(path_);
  for (const auto& left : fs::directory_iterator(directory, ignored)) {
    if (!left.path().filename().string().starts_with(prefix)) continue;
    const int owned = lock(left.path());
    if (owned < 0) continue;
    system_.remove(left.path());
    ::close(owned);
  }
  open_temporary(directory / prefix);
  struct stat before = {};
  if (::stat(path_.c_str(), &before) == 0) ::fchmod(file_, before.st_mode & 07777);
}

// Another process that looks for left-over files may come between creating and locking: it has then
// removed the file by the time this process holds the lock.
void AtomicFile::open_temporary(const std::string& prefix) {
  struct stat made = {};
  do {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    const fs::path name = unique_name(prefix);
    file_ = system_.create(name, path_);
    forget_partial_file(temporary_.string());
    remember_partial_file(name.string());
    temporary_ = name;
    ::flock(file_, LOCK_EX);  // a file system without locks does without
  } while (::fstat(file_, &made) == 0 && made.st_nlink == 0);
  lock_ = ::fcntl(file_, F_DUPFD_CLOEXEC, 0);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) {
    system_.remove(temporary_);
    forget_partial_file(temporary_.string());
  }
  if (lock_ >= 0) ::close(lock_);
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kBufferBytes - size_ % kBufferBytes);
    bytes.remove_prefix(part.size());
    size_ += part.size();
    buffer_ += part;
    if (size_ % kBufferBytes == 0) flush();
  }
  if (temporary_.empty()) flush();  // somebody may wait at the other end
}

void AtomicFile::flush() {
  system_.write(file_, path_, buffer_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (temporary_.empty()) return system_.close(std::exchange(file_, -1), path_);
  system_.sync(file_, path_);
  system_.close(std::exchange(file_, -1), path_);
  system_.rename(temporary_, path_);
  forget_partial_file(temporary_.string());
  temporary_.clear();
  ::close(std::exchange(lock_, -1));
  system_.sync_directory(directory_of(path_));
}

void replace_file(const fs::path& path, std::string_view content, FileSystem& system) {
  AtomicFile file(path, system);
  file.write(content);
  file.commit();
}

std::string read_file(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(path, "cannot open");
  std::string content;
  struct stat status {};
  // Room for all of a regular file and its end; what others hold, and files of /proc, is not known.
  size_t room = 64 << 10;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    room = std::max<size_t>(static_cast<size_t>(status.st_size) + 1, 4096);
  }
  content.resize(room);
  for (size_t used = 0;;) {
    if (used == content.size()) content.resize(2 * used);
    const ssize_t n = ::read(file, content.data() + used, content.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int code = errno;
      ::close(file);
      errno = code;
      fail_errno(path, "cannot read");
    }
    used += static_cast<size_t>(n);
    if (n == 0) {
      content.resize(used);
      break;
    }
  }
  ::close(file);
  return content;
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

AtomicDirectory::AtomicDirectory(const fs::path& target, bool replace, const std::string& marker,
                                 FileSystem& system)
    : system_(system), target_(without_trailing_slash(target)), replace_(replace), marker_(marker) {
  std::error_code ignored;
  if (fs::is_directory(target_, ignored) && fs::is_symlink(target_)) {
    target_ = fs::canonical(target_);
  }
  gives_way();
  require(target_.filename() != "." && target_.filename() != ".." && !is_mount_point(target_),
          "{}: the result is renamed into place, which \".\" and mount points do not allow; give a "
          "directory inside it",
          target_.string());
  const fs::path parent = directory_of(target_);
  fs::create_directories(parent);
  const std::string prefix = partial_prefix(target_);
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const std::string owner = name.substr(prefix.size());
    const int owned = lock(entry.path());
    require(owned >= 0, "{}: process {} is writing it; wait for it to end, or stop it",
            target_.string(), owner.substr(0, owner.find('-')));
    system_.remove(entry.path());
    ::close(owned);
  }
  open_partial(parent / prefix);
}

// As AtomicFile::open_temporary(); but not every file system counts the links of a directory.
void AtomicDirectory::open_partial(const std::string& prefix) {
  std::error_code error;
  do {
    if (lock_ >= 0) ::close(std::exchange(lock_, -1));
    partial_ = unique_name(prefix);
    fs::create_directory(partial_, error);
    require(!error, "{}: cannot create directory: {}", target_.string(), error.message());
    lock_ = ::open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ >= 0) ::flock(lock_, LOCK_EX);
  } while (!fs::exists(partial_, error));
}

bool AtomicDirectory::gives_way() const {
  if (!fs::exists(fs::symlink_status(target_))) return false;
  require(replace_, "{}: already exists; give another directory, or --force to replace it",
          target_.string());
  require(fs::is_directory(target_) && (fs::is_empty(target_) || fs::exists(target_ / marker_)),
          "{}: does not contain {}, so it is not an earlier result and is not replaced",
          target_.string(), marker_);
  return true;
}

AtomicDirectory::~AtomicDirectory() {
  if (!partial_.empty()) system_.remove(partial_);  // unfinished, or what stood there before
  if (lock_ >= 0) ::close(lock_);
}

void AtomicDirectory::commit() {
  for (const auto& entry : fs::recursive_directory_iterator(partial_)) {
    if (entry.is_directory()) {
      system_.sync_directory(entry.path());
    } else if (entry.is_regular_file()) {
      const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) fail_errno(entry.path(), "cannot open");
      try {
        system_.sync(file, entry.path());
      } catch (...) {
        ::close(file);
        throw;
      }
      system_.close(file, entry.path());
    }
  }
  system_.sync_directory(partial_);
  const bool replaces = gives_way();  // it may have come into being meanwhile
  if (replaces) {
    system_.exchange(partial_, target_);
  } else {
    system_.rename(partial_, target_);
    partial_.clear();
  }
  system_.sync_directory(directory_of(target_));
}

MappedFile::MappedFile(const fs::path& path, Descriptor descriptor) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail_errno(path, "cannot open");
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    fail("{}: not a regular file", path.string());
  }
  size_ = static_cast<size_t>(status.st_size);
  void* data = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  const int code = errno;
  if (descriptor == Descriptor::keep && data != MAP_FAILED) {
    file_ = file;
  } else {
    ::close(file);
  }
  errno = code;
  if (data == MAP_FAILED) fail_errno(path, "cannot map into memory");
  // A hint. Where the file system supports it (ext4, Linux 6.18), a model read through a huge-page
  // mapping lies in huge pages for all later processes: touching 242 MB takes 1 to 4 ms instead of
  // 89. A file that is written in small pieces does not, so files are written in whole huge pages:
  // the first line came after 134 to 135 ms instead of 151 (Emerald Rapids, base float32, same
  // bytes; c5ece9a).
  if (size_ > 0) ::madvise(data, size_, MADV_HUGEPAGE);
  data_ = static_cast<const char*>(data);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
  if (file_ >= 0) ::close(file_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      file_(std::exchange(other.file_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  return *this;
}

void MappedFile::copy(std::string_view part, char* into) const noexcept {
  const ssize_t read =
      file_ < 0 ? -1 : ::pread(file_, into, part.size(), static_cast<off_t>(part.data() - data_));
  if (read != static_cast<ssize_t>(part.size())) std::memcpy(into, part.data(), part.size());
}

void require_disk_space(const fs::path& path, uint64_t bytes) {
  const fs::path existing = nearest_existing(path);
  const uint64_t available = fs::space(existing).available;
  require(available >= bytes, "{}: needs about {} MB, the file system has {} MB free",
          path.string(), bytes / 1'000'000 + 1, available / 1'000'000);
}

void require_writable(const fs::path& directory) {
  const fs::path existing = nearest_existing(directory);
  require(fs::is_directory(existing), "{}: {} is not a directory", directory.string(),
          existing.string());
  // An unnamed file, where the file system supports it: a process killed here leaves nothing.
  int file = ::open(existing.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    const fs::path probe = existing / fmt::format(".residual-probe-{}", ::getpid());
    file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail_errno(directory, "cannot write there");
    ::unlink(probe.c_str());
  }
  ::close(file);
}

}  // namespace residual
