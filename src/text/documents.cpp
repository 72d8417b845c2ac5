#include "text/documents.h"

#include <string_view>

namespace residual::text {
namespace {

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const size_t begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

std::optional<DocumentText> DocumentCursor::next() {
  DocumentText document;
  while (const auto line = lines_.next()) {
    ++line_;
    const std::string_view text = trimmed(*line);
    if (text.empty() && document.text.empty()) continue;
    if (text.empty()) return document;
    if (document.text.empty()) {
      document.line = line_;
    } else {
      document.text += ' ';
    }
    document.text += text;
    if (documents_ == Documents::lines) return document;
  }
  if (document.text.empty()) return std::nullopt;
  return document;
}

}  // namespace residual::text
