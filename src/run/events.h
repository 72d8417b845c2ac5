#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"

// What TensorBoard reads: records (TensorFlow's TFRecord framing) that each hold one protocol
// buffer of type tensorflow.Event. docs/formats.md gives the few fields that are used.
namespace residual::run {

// The cyclic redundancy check of RFC 3720 (Castagnoli's polynomial), which guards the records.
uint32_t crc32c(std::string_view bytes);

// A new event file in `directory`, named so that viewers read it after those that are there.
// Records are buffered; flush() hands them to the system, and so does the destructor, which keeps
// errors to itself.
class EventFile {
 public:
  // A session that resumes after some update gives the next one: viewers then forget what earlier
  // sessions wrote of it and of later ones, so that no step is shown twice. 0: nothing to forget.
  explicit EventFile(const fs::path& directory, int64_t resumes_at = 0,
                     FileSystem& system = FileSystem::real());
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // `wall_time`: seconds since 1970.
  void scalar(const std::string& tag, float value, int64_t step, double wall_time);
  void flush();

  const fs::path& path() const { return path_; }

 private:
  void add(std::string_view event);  // frames it

  FileSystem& system_;
  fs::path path_;
  int file_;
  std::string buffer_;
};

}  // namespace residual::run
