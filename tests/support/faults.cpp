// A library for LD_PRELOAD that makes one call of the file layer fail. Calls count that concern a
// path under RESIDUAL_FAULT_UNDER, or a file opened there; call number RESIDUAL_FAULT_AT fails, and
// its name and path are written to the file RESIDUAL_FAULT_LOG.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kFiles = 4096;
std::atomic<bool> watched[kFiles];  // descriptors of files under the directory
std::atomic<long> calls{0};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_under(const char* path) {
  static const char* const directory = std::getenv("RESIDUAL_FAULT_UNDER");
  if (directory == nullptr || path == nullptr) return false;
  char full[PATH_MAX];
  if (path[0] != '/' && ::getcwd(full, sizeof(full)) != nullptr) {
    std::strncat(full, "/", sizeof(full) - std::strlen(full) - 1);
    std::strncat(full, path, sizeof(full) - std::strlen(full) - 1);
    path = full;
  }
  return std::strncmp(path, directory, std::strlen(directory)) == 0;
}

bool is_watched(int file) { return file >= 0 && file < kFiles && watched[file]; }

int watch(int file, bool is) {
  if (file >= 0 && file < kFiles) watched[file] = is;
  return file;
}

// Whether this call is the one that fails; it then sets errno.
bool fails(const char* call, const char* path, int code) {
  static const char* const at = std::getenv("RESIDUAL_FAULT_AT");
  if (at == nullptr || ++calls != std::atol(at)) return false;
  char line[PATH_MAX + 64];
  const int length = std::snprintf(line, sizeof(line), "%s %s\n", call, path);
  const int log = real<int(const char*, int, ...)>("open")(
      std::getenv("RESIDUAL_FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  static_cast<void>(!real<ssize_t(int, const void*, size_t)>("write")(log, line, length));
  real<int(int)>("close")(log);
  errno = code;
  return true;
}

const char* path_of(int file, char (&path)[PATH_MAX]) {
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof(path) - 1);
  path[length < 0 ? 0 : length] = 0;
  return path;
}

bool file_fails(const char* call, int file, int code) {
  char path[PATH_MAX];
  return is_watched(file) && fails(call, path_of(file, path), code);
}

int open_as(const char* name, const char* path, int flags, mode_t mode) {
  const bool is = is_under(path);
  if (is && fails("open", path, (flags & O_CREAT) != 0 ? ENOSPC : EIO)) return -1;
  return watch(real<int(const char*, int, ...)>(name)(path, flags, mode), is);
}

std::FILE* fopen_as(const char* name, const char* path, const char* mode) {
  const bool is = is_under(path);
  if (is && fails("fopen", path, EIO)) return nullptr;
  std::FILE* const file = real<std::FILE*(const char*, const char*)>(name)(path, mode);
  if (file != nullptr) watch(::fileno(file), is);
  return file;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open_as("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open_as("open64", path, flags, mode);
}
std::FILE* fopen(const char* path, const char* mode) { return fopen_as("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return fopen_as("fopen64", path, mode); }

int mkstemp(char* path) {
  const bool is = is_under(path);
  if (is && fails("mkstemp", path, ENOSPC)) return -1;
  return watch(real<int(char*)>("mkstemp")(path), is);
}
int mkstemp64(char* path) { return mkstemp(path); }

ssize_t write(int file, const void* bytes, size_t size) {
  if (file_fails("write", file, ENOSPC)) return -1;
  return real<ssize_t(int, const void*, size_t)>("write")(file, bytes, size);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  if (file_fails("writev", file, ENOSPC)) return -1;
  return real<ssize_t(int, const struct iovec*, int)>("writev")(file, parts, count);
}
size_t fwrite(const void* bytes, size_t size, size_t count, std::FILE* file) {
  if (file_fails("fwrite", ::fileno(file), ENOSPC)) return 0;
  return real<size_t(const void*, size_t, size_t, std::FILE*)>("fwrite")(bytes, size, count, file);
}
int fflush(std::FILE* file) {
  if (file != nullptr && file_fails("fflush", ::fileno(file), ENOSPC)) return EOF;
  return real<int(std::FILE*)>("fflush")(file);
}
int fsync(int file) {
  if (file_fails("fsync", file, EIO)) return -1;
  return real<int(int)>("fsync")(file);
}
int ftruncate(int file, off_t size) {
  if (file_fails("ftruncate", file, EIO)) return -1;
  return real<int(int, off_t)>("ftruncate")(file, size);
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }
int close(int file) {
  const bool is_faulty = file_fails("close", file, EIO);
  const int code = errno;
  watch(file, false);
  const int result = real<int(int)>("close")(file);
  if (!is_faulty) return result;
  errno = code;
  return -1;
}

int rename(const char* from, const char* to) {
  if (is_under(to) && fails("rename", to, EIO)) return -1;
  return real<int(const char*, const char*)>("rename")(from, to);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  if (is_under(to) && fails("renameat2", to, EIO)) return -1;
  return real<int(int, const char*, int, const char*, unsigned)>("renameat2")(a, from, b, to,
                                                                              flags);
}
int mkdir(const char* path, mode_t mode) {
  if (is_under(path) && fails("mkdir", path, ENOSPC)) return -1;
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (file_fails("mmap", file, ENOMEM)) return MAP_FAILED;
  return real<void*(void*, size_t, int, int, int, off_t)>("mmap")(at, size, protection, flags, file,
                                                                  offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int file, off64_t offset) {
  return mmap(at, size, protection, flags, file, offset);
}

}  // extern "C"
