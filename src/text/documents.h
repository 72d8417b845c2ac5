#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "text/lines.h"

namespace residual::text {

// Running text: the lines of a document, without white space around them, joined by spaces.
struct Document {
  std::string text;
  uint64_t line = 1;  // that it begins in, from 1
};

// Reads documents that empty lines separate. A line of white space alone counts as empty.
class DocumentCursor {
 public:
  explicit DocumentCursor(const fs::path& path, Invalid invalid = Invalid::refuse)
      : lines_(path, invalid) {}

  // Returns nothing at the end of the file.
  std::optional<Document> next();

  const std::string& name() const { return lines_.name(); }
  uint64_t size() const { return lines_.size(); }

 private:
  LineCursor lines_;
  uint64_t line_ = 0;  // the last one read
};

}  // namespace residual::text
