#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace residual::text {

// A piece of an HTML document.
//   text     running text with entities
//   open     tag of an element inside running text, such as <b> or <a href="...">
//   close    the other tag of that element; both are in one passage
//   point    inside running text too: <img>, or a whole <code>...</code>
//   comment
//   border   all else, which stays and which no passage contains: <p>, a whole <script>, a doctype,
//            tags without their other tag
struct HtmlToken {
  static constexpr size_t kNone = static_cast<size_t>(-1);
  enum class Kind { text, open, close, point, comment, border };

  Kind kind;
  size_t begin, end;       // bytes
  std::string_view name;   // of a tag, as the document spells it
  size_t partner = kNone;  // of a close: the index of its open
};

// Divides HTML into tokens, which together are all its bytes. Anything is HTML: what is no tag is
// text.
std::vector<HtmlToken> html_tokens(std::string_view html);

}  // namespace residual::text
