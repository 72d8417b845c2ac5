#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace residual {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

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

}  // namespace

FileSystem& FileSystem::real() {
  static FileSystem instance;
  return instance;
}

int FileSystem::create(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail_errno(path, "cannot create");
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
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0) {
    fail_errno(b, "cannot rename into place");
  }
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
    : system_(system),
      path_(std::move(path)),
      temporary_(directory_of(path_) /
                 fmt::format(".{}.partial-{}", path_.filename().string(), ::getpid())),
      file_((system_.remove(temporary_), system_.create(temporary_))) {}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) system_.remove(temporary_);
}

void AtomicFile::write(std::string_view bytes) {
  buffer_ += bytes;
  size_ += bytes.size();
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::flush() {
  system_.write(file_, temporary_, buffer_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  system_.sync(file_, temporary_);
  system_.close(std::exchange(file_, -1), temporary_);
  system_.rename(temporary_, path_);
  temporary_.clear();
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
  for (size_t used = 0;;) {
    content.resize(used + (used < kBufferBytes ? kBufferBytes / 16 : used));
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

AtomicDirectory::AtomicDirectory(const fs::path& target, bool replace, FileSystem& system)
    : system_(system), target_(without_trailing_slash(target)), replace_(replace) {
  require(replace_ || !fs::exists(target_),
          "{}: already exists; give another directory, or --force to replace it", target_.string());
  const fs::path parent = directory_of(target_);
  fs::create_directories(parent);
  const std::string prefix = fmt::format(".{}.partial-", target_.filename().string());
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const auto owner = static_cast<pid_t>(std::strtol(name.c_str() + prefix.size(), nullptr, 10));
    const bool alive =
        owner > 0 && owner != ::getpid() && (::kill(owner, 0) == 0 || errno == EPERM);
    require(!alive, "{}: process {} is writing it; wait for it to end, or stop it",
            target_.string(), owner);
    system_.remove(entry.path());
  }
  partial_ = parent / fmt::format("{}{}", prefix, ::getpid());
  std::error_code error;
  fs::create_directory(partial_, error);
  require(!error, "{}: cannot create directory: {}", partial_.string(), error.message());
}

AtomicDirectory::~AtomicDirectory() {
  if (!committed_) system_.remove(partial_);
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
  if (replace_ && fs::exists(target_)) {
    system_.exchange(partial_, target_);
    system_.remove(partial_);  // now what stood there before
  } else {
    system_.rename(partial_, target_);
  }
  committed_ = true;
  system_.sync_directory(directory_of(target_));
}

MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(path, "cannot open");
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    fail("{}: not a regular file", path.string());
  }
  size_ = static_cast<size_t>(status.st_size);
  void* data = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  const int code = errno;
  ::close(file);
  errno = code;
  if (data == MAP_FAILED) fail_errno(path, "cannot map into memory");
  data_ = static_cast<const char*>(data);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
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
  const fs::path probe = existing / fmt::format(".residual-probe-{}", ::getpid());
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) fail_errno(directory, "cannot write there");
  ::close(file);
  ::unlink(probe.c_str());
}

}  // namespace residual
