#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

// Lines end with '\n' only, as in Moses: a '\r' belongs to its line.
namespace residual::text {

// Treatment of bytes that are not UTF-8.
enum class Invalid { refuse, replace };

// Consecutive whole lines of a file and their position in it.
struct LineBlock {
  std::string bytes;        // every line ends with '\n', the last one of the file too
  uint64_t first_line = 1;  // 1-based
  uint64_t bytes_read = 0;  // of the file, up to the end of this block
};

// Reads a file, or standard input if the path is "-", in blocks of whole lines. A block holds the
// result of one read, so that lines from an open pipe are processed promptly. Lines may have any
// length.
class LineReader {
 public:
  explicit LineReader(const fs::path& path, Invalid invalid = Invalid::refuse);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Returns nothing at the end of the file or after interrupt(). Bytes that are not UTF-8 cause an
  // error that names the line, or become U+FFFD.
  std::optional<LineBlock> next();
  // Makes a next() that waits in another thread return.
  void interrupt();

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }  // of a regular file, else 0

 private:
  std::optional<LineBlock> block(std::string bytes);

  std::string name_;
  Invalid invalid_;
  int file_;
  int wake_;
  uint64_t size_ = 0;
  std::string rest_;  // the beginning of a line whose end has not been read
  uint64_t line_ = 1;
  uint64_t read_ = 0;
  bool ended_ = false;
};

// Reads a file line by line.
class LineCursor {
 public:
  explicit LineCursor(const fs::path& path, Invalid invalid = Invalid::refuse)
      : reader_(path, invalid) {}

  // Returns a line without its '\n', or nothing at the end of the file or after interrupt().
  std::optional<std::string> next();
  void interrupt() { reader_.interrupt(); }

  const std::string& name() const { return reader_.name(); }
  uint64_t size() const { return reader_.size(); }

 private:
  LineReader reader_;
  std::optional<LineBlock> block_;
  size_t at_ = 0;
};

// The output of lines: standard output ("-"), written immediately, or a file that appears when
// complete.
class LineWriter {
 public:
  explicit LineWriter(const fs::path& path);
  void write(std::string_view bytes);
  void commit();

 private:
  std::unique_ptr<AtomicFile> file_;
};

// Calls body(line, number) for each line, without its '\n'; number is 1-based.
void for_each_line(const fs::path& path, Invalid invalid,
                   const std::function<void(std::string_view, uint64_t)>& body);

// Splits a block into lines. The views are valid as long as the block.
template <class Body>
void for_each_line(const LineBlock& block, Body&& body) {
  const std::string_view bytes = block.bytes;
  uint64_t number = block.first_line;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = bytes.find('\n', at);
    body(bytes.substr(at, end - at), number++);
    at = end + 1;
  }
}

// A function that appends the transformed line to `out`, without '\n'. It may keep a cache, since
// only one thread at a time calls it.
using LineTransform = std::function<void(std::string_view line, std::string& out)>;

struct TransformLines {
  fs::path input = "-";
  fs::path output = "-";  // a named file appears whole or not at all
  Invalid invalid = Invalid::refuse;
  std::string progress;  // label of a progress display, shown when the input's size is known
};

// Applies a transform (one made per thread) to every input line, in order, on all cores, in bounded
// memory. An Error of a transform gets the file's name and line number as a prefix.
void transform_lines(const TransformLines& files,
                     const std::function<LineTransform()>& make_transform);

}  // namespace residual::text
