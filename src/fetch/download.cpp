#include "fetch/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "base/progress.h"

namespace residual::fetch {
namespace {

// curl(1), "exit codes".
constexpr int kHttpError = 22;
constexpr int kRangeError = 33;
constexpr int kBadResume = 36;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string on_mirror(const std::string& address, std::string mirror) {
  if (mirror.empty()) return address;
  while (mirror.ends_with('/')) mirror.pop_back();
  const size_t host = address.find("://");
  const size_t path = host == std::string::npos ? host : address.find('/', host + 3);
  return path == std::string::npos ? mirror : mirror + address.substr(path);
}

uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

int run_curl(const std::string& address, const fs::path& to) {
  std::vector<std::string> command = {
      "curl",    "--fail", "--location",        "--show-error", "--continue-at", "-",
      "--retry", "3",      "--connect-timeout", "20",           "--output",      to.string()};
  const bool shows = !Progress::quiet() && ::isatty(STDERR_FILENO) == 1;
  command.push_back(shows ? "--progress-bar" : "--silent");
  command.push_back(address);
  return run_process(command).exit_code;
}

// curl's exit code.
int load(const std::string& address, const fs::path& partial, uint64_t bytes) {
  const bool resumes = fs::exists(partial);
  if (bytes > 0 && size_of(partial) == bytes) return 0;
  log::info("{} {}", resumes ? "resuming" : "downloading", address);
  const int code = run_curl(address, partial);
  // The server rejects resumption: the existing file may be complete, or belong to another version.
  if (resumes && (code == kHttpError || code == kRangeError || code == kBadResume)) {
    fs::remove(partial);
    return run_curl(address, partial);
  }
  return code;
}

void verify(const fs::path& path, const RemoteFile& file) {
  const uint64_t bytes = size_of(path);
  require(file.bytes == 0 || bytes == file.bytes,
          "{}: expected {} bytes, got {}; remove it to download it again, or pass --no-verify",
          path.string(), file.bytes, bytes);
  if (file.digest.empty()) return;
  const std::string digest = digests({path}, file.digest.substr(0, file.digest.find(':'))).front();
  require(digest == file.digest,
          "{}: expected {}, got {}; remove it to download it again, or pass --no-verify",
          path.string(), file.digest, digest);
}

// Whole or not at all, even if the machine loses power.
void put_in_place(const fs::path& partial, const fs::path& path) {
  const int file = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(partial, "cannot open");
  const bool synced = ::fsync(file) == 0;
  const int code = errno;
  ::close(file);
  errno = code;
  if (!synced) fail_errno(partial, "cannot sync to disk");
  FileSystem::real().rename(partial, path);
  FileSystem::real().sync_directory(path.parent_path());
}

// True if the file is now at `path`.
bool obtain(const RemoteFile& file, const fs::path& path, const DownloadOptions& options) {
  if (fs::exists(path)) {
    if (options.verify) verify(path, file);
    return true;
  }
  const fs::path partial = path.string() + ".part";
  const uint64_t bytes = options.verify ? file.bytes : 0;
  if (load(on_mirror(file.address, options.mirror), partial, bytes) != 0) return false;
  if (options.verify) verify(partial, file);
  put_in_place(partial, path);
  return true;
}

// While it lives, no other process loads files into the directory.
class DirectoryLock {
 public:
  explicit DirectoryLock(const fs::path& directory)
      : file_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (file_ < 0) fail_errno(directory, "cannot open directory");
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    log::info("{}: another process is downloading into it; waiting for it to end",
              directory.string());
    while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~DirectoryLock() { ::close(file_); }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int file_;
};

// True if tar can read it to its end.
bool is_whole(const fs::path& archive) {
  return run_process({"tar", "--list", "--force-local", "--file=" + archive.string()}).exit_code ==
         0;
}

}  // namespace

std::string RemoteFile::name() const {
  if (!stored_as.empty()) return stored_as;
  const std::string last = address.substr(address.rfind('/') + 1);
  std::string out;
  for (size_t i = 0; i < last.size(); ++i) {
    const int high = last[i] == '%' && i + 2 < last.size() ? hex_value(last[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(last[i + 2]) : -1;
    if (low >= 0) i += 2;
    out += low >= 0 ? static_cast<char>(high * 16 + low) : last[i];
  }
  // Addresses may come from a package list: a name stays in its directory.
  require(!out.empty() && out != "." && out != ".." && out.find('/') == std::string::npos,
          "{}: does not end in a file name", address);
  return out;
}

std::vector<fs::path> download(const std::vector<RemoteFile>& files,
                               const DownloadOptions& options) {
  std::vector<fs::path> paths;
  std::vector<const RemoteFile*> missing;
  uint64_t needed = 0;
  for (const RemoteFile& file : files) {
    paths.push_back(options.directory / file.name());
    if (fs::exists(paths.back())) continue;
    missing.push_back(&file);
    needed += file.bytes;
  }
  if (!missing.empty()) {
    require_program("curl", "curl");
    require_writable(options.directory);
    require_disk_space(options.directory, needed);
    fs::create_directories(options.directory);
  }
  std::optional<DirectoryLock> lock;
  if (!missing.empty()) lock.emplace(options.directory);
  std::string lost;
  for (size_t i = 0; i < files.size(); ++i) {
    if (obtain(files[i], paths[i], options)) continue;
    lost +=
        fmt::format("\n  {} -> {}", on_mirror(files[i].address, options.mirror), paths[i].string());
    if (files[i].bytes > 0) lost += fmt::format(" ({} bytes)", format_count(files[i].bytes));
  }
  require(
      lost.empty(),
      "cannot download these files; get them in another way, put each where its arrow points, and "
      "run the same command again:{}",
      lost);
  return paths;
}

std::vector<std::string> digests(const std::vector<fs::path>& paths, std::string_view kind) {
  if (paths.empty()) return {};
  std::vector<std::string> command = {fmt::format("{}sum", kind), "--"};
  for (const fs::path& path : paths) command.push_back(path.string());
  const ProcessResult result = run_process(command);
  std::vector<std::string> out;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    // A name with a backslash or line break in it makes its line begin with a backslash.
    const size_t start = line.starts_with('\\') ? 1 : 0;
    out.push_back(fmt::format("{}:{}", kind, line.substr(start, line.find(' ') - start)));
  }
  require(result.exit_code == 0 && out.size() == paths.size(),
          "{}: failed with exit code {}; is coreutils installed?", command[0], result.exit_code);
  return out;
}

void require_program(const std::string& name, const std::string& package) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path ? path : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (::access((fs::path(directory) / name).c_str(), X_OK) == 0) return;
  }
  fail("{}: program not found; install it with `apt-get install {}`", name, package);
}

// No name leaves the directory: tar strips a leading "/" and refuses "..".
void extract(const fs::path& archive, const fs::path& directory,
             const std::vector<std::string>& patterns, Matches matches) {
  require_program("tar", "tar");
  log::info("unpacking {}", archive.string());
  std::vector<std::string> command = {"tar",
                                      "--extract",
                                      "--force-local",
                                      "--no-same-owner",
                                      "--file=" + archive.string(),
                                      "--directory=" + directory.string(),
                                      "--wildcards",
                                      "--"};
  command.insert(command.end(), patterns.begin(), patterns.end());
  const int code = run_process(command).exit_code;
  // tar fails in the same way where nothing matches and where the archive is damaged.
  const auto nothing_matched = [&] {
    return matches == Matches::optional && fs::is_empty(directory) && is_whole(archive);
  };
  require(
      code == 0 || nothing_matched(),
      "{}: cannot unpack it (tar's exit code is {}); if it is damaged, remove it to download it "
      "again",
      archive.string(), code);
}

}  // namespace residual::fetch
