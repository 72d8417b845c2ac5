#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"

// TensorBoard's event files: records in TensorFlow's TFRecord framing, each with one protocol
// buffer of type tensorflow.Event. docs/formats.md lists the fields in use.
namespace residual::run {

// The cyclic redundancy check of RFC 3720 (Castagnoli's polynomial), which guards the records.
uint32_t crc32c(std::string_view bytes);

// A new event file in `directory`, named so that viewers read it after the existing ones. Records
// are buffered; flush() and the destructor write them. The destructor ignores errors.
class EventFile {
 public:
  // A session that resumes passes the first update it will compute: viewers then discard what
  // earlier sessions wrote from that update on, so that no step appears twice. 0: discard nothing.
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
  void add(std::string_view event);  // adds the record's framing

  FileSystem& system_;
  fs::path path_;
  int file_;
  std::string buffer_;
};

}  // namespace residual::run
