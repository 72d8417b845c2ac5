#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace residual::text {

// What of a text stays as it is.
//   none  nothing
//   text  white space around lines, URLs, e-mail addresses and placeholders: {name}, ${name}, %s
//   html  the same, tags and entities
enum class Markup { none, text, html };
constexpr auto names(Markup) { return std::array{"none", "text", "html"}; }

// A tag, or a point: something else that stays. It stands before byte `at` of the text that it was
// taken out of.
struct Mark {
  static constexpr size_t kNone = static_cast<size_t>(-1);
  enum class Kind { open, close, point };

  Kind kind = Kind::point;
  size_t at = 0;
  std::string raw;         // as the document has it
  size_t partner = kNone;  // of a tag: the index of the other tag of its element, if it is there
  bool is_word = false;    // a point with white space on the sides where it had some
};

// Text to translate, its marks in order, and what stands before it in the document.
struct Passage {
  std::string_view before;
  std::string text;  // entities are characters
  std::vector<Mark> marks;
};

struct Document {
  std::vector<Passage> passages;
  std::string_view after;
};

// Divides a document into what stays and what is translated. In HTML, a passage ends at the tags of
// blocks (<p>, <li>, <br> ...), and at tags whose other tag it does not have; so the tags of a
// passage are balanced. Comments are points, as are <code>, <kbd>, <samp>, <var> and <tt> with
// their contents. <script>, <style>, <pre>, <textarea>, <svg>, <math>, and elements with
// translate="no", stay whole. REQUIRES: UTF-8; markup is not `none`; the document outlives the
// result.
Document parse_document(std::string_view document, Markup markup);

// Appends text as a document of this markup has it: in HTML, & < > as entities.
void append_escaped(std::string_view text, Markup markup, std::string& out);

}  // namespace residual::text
