#include "run/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace residual::run {

Averages averages(const Sums& sums) {
  const double tokens = std::numbers::ln2 * static_cast<double>(std::max<int64_t>(1, sums.tokens));
  const double nll = sums.nll / tokens;
  return {.loss = sums.loss / tokens, .nll = nll, .perplexity = std::exp2(nll)};
}

GrowingFile::GrowingFile(fs::path path, int64_t bytes, FileSystem& system)
    : path_(std::move(path)),
      system_(system),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail_errno(path_, "cannot open");
  bytes_ = static_cast<int64_t>(fs::file_size(path_));
  if (bytes == kAll) bytes = static_cast<int64_t>(read_file(path_).rfind('\n') + 1);
  if (bytes == bytes_) return;
  if (bytes > bytes_) {
    log::warn("{}: has {} bytes, but the checkpoint recorded {}: lines are missing", path_.string(),
              bytes_, bytes);
    return;
  }
  if (::ftruncate(file_, bytes) != 0) fail_errno(path_, "cannot shorten");
  bytes_ = bytes;
}

GrowingFile::~GrowingFile() { ::close(file_); }

void GrowingFile::append(std::string_view text) {
  system_.write(file_, path_, text);
  bytes_ += static_cast<int64_t>(text.size());
}

void GrowingFile::append_line(const nlohmann::ordered_json& object) {
  append(object.dump() + "\n");
}

void GrowingFile::sync() { system_.sync(file_, path_); }

}  // namespace residual::run
