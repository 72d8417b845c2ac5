#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual::fetch {

// A published file. Unknown members are 0 or empty.
struct RemoteFile {
  std::string address;
  uint64_t bytes = 0;
  std::string digest;        // "sha256:..." or "md5:...", in hexadecimal
  std::string stored_as;     // its name among the downloads; empty: that of the address
  std::string name() const;  // stored_as, or the last part of the address, %xx decoded
};

struct DownloadOptions {
  fs::path directory;  // directory of downloads; existing files are not downloaded again
  std::string mirror;  // replaces scheme and host of every address
  bool verify = true;  // sizes and digests, where known
};

// Returns the path of each file. Downloads missing files with curl, which resumes partial files of
// an earlier run. If a file is unavailable, an error names all missing files, their addresses and
// where to put them; the same call then continues from there.
std::vector<fs::path> download(const std::vector<RemoteFile>& files,
                               const DownloadOptions& options);

// Returns "sha256:..." from the program sha256sum (or md5sum), in the order of the paths.
std::vector<std::string> digests(const std::vector<fs::path>& paths,
                                 std::string_view kind = "sha256");

// Throws an Error that names the Debian package if a program is not on PATH.
void require_program(const std::string& name, const std::string& package);

// Unpacks the members of a tar archive, of any compression, that match one of the patterns
// (wildcards match '/' too) into a directory. A pattern without a match is an error, unless matches
// are optional; the directory must then be empty beforehand.
enum class Matches { required, optional };
void extract(const fs::path& archive, const fs::path& directory,
             const std::vector<std::string>& patterns, Matches matches = Matches::required);

}  // namespace residual::fetch
