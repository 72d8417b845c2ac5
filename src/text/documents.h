#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "text/lines.h"

namespace residual::text {

// Running text: the lines of a document, without white space around them, joined by spaces.
struct DocumentText {
  std::string text;
  uint64_t line = 1;  // that it begins in, from 1
};

// What a document is: the lines up to an empty one, or every line that is not empty. White space
// alone is an empty line.
enum class Documents { paragraphs, lines };

// Reads the documents of a file.
class DocumentCursor {
 public:
  explicit DocumentCursor(const fs::path& path, Invalid invalid = Invalid::refuse,
                          Documents documents = Documents::paragraphs)
      : lines_(path, invalid), documents_(documents) {}

  // Returns nothing at the end of the file.
  std::optional<DocumentText> next();

  const std::string& name() const { return lines_.name(); }
  uint64_t size() const { return lines_.size(); }

 private:
  LineCursor lines_;
  Documents documents_;
  uint64_t line_ = 0;  // the last one read
};

}  // namespace residual::text
