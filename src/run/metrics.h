#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/files.h"
#include "run/state.h"

namespace residual::run {

// Averages per predicted token; losses in bits, as fairseq prints them.
struct Averages {
  double loss, nll;
  double perplexity;  // 2^nll
};
Averages averages(const Sums& sums);

// An append-only file.
class GrowingFile {
 public:
  static constexpr int64_t kAll = -1;  // all bytes except an unfinished last line

  // Opens or creates the file, and truncates it to `bytes` if it is longer.
  explicit GrowingFile(fs::path path, int64_t bytes = kAll,
                       FileSystem& system = FileSystem::real());
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  void append(std::string_view text);
  void append_line(const nlohmann::ordered_json& object);
  void sync();  // appended lines then survive a loss of power
  int64_t bytes() const { return bytes_; }

 private:
  fs::path path_;
  FileSystem& system_;
  int file_;
  int64_t bytes_ = 0;
};

}  // namespace residual::run
