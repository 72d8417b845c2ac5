#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual::fetch {

// A file that others publish. What is not known of it is 0 or empty.
struct RemoteFile {
  std::string address;
  uint64_t bytes = 0;
  std::string digest;        // "sha256:..." or "md5:...", in hexadecimal
  std::string name() const;  // the last part of the address, %xx decoded
};

struct DownloadOptions {
  fs::path directory;  // where files are kept; one that is there already is not loaded again
  std::string mirror;  // replaces scheme and host of every address
  bool verify = true;  // sizes and digests, where known
};

// Where each of the files now is. Loads what is missing with curl, which resumes what an earlier
// run began. A file that cannot be had is an error that names all missing files, their addresses
// and where to put them; the same call then goes on from there.
std::vector<fs::path> download(const std::vector<RemoteFile>& files,
                               const DownloadOptions& options);

// "sha256:..." by the program sha256sum (or md5sum), in the order of the paths.
std::vector<std::string> digests(const std::vector<fs::path>& paths,
                                 std::string_view kind = "sha256");

// Fails, saying which Debian package has it, if a program is not on PATH.
void require_program(const std::string& name, const std::string& package);

// Unpacks the members of a tar archive, of any compression, that match one of the patterns
// (wildcards match '/' too) into a directory. A pattern that matches nothing is an error, unless
// matches are optional; the directory must then be empty before.
enum class Matches { required, optional };
void extract(const fs::path& archive, const fs::path& directory,
             const std::vector<std::string>& patterns, Matches matches = Matches::required);

}  // namespace residual::fetch
