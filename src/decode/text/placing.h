#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/markup/markup.h"

namespace residual::decode {

// A mark of a sentence that is translated. Its `at` is the number of source pieces before it. A tag
// without partner belongs to an element that begins before the sentence or ends after it.
struct SentenceMark {
  text::Mark mark;
  bool has_space_before = false, has_space_after = false;
};

// A translation and the source piece that each of its pieces comes from.
struct AlignedText {
  std::string_view text;
  std::vector<size_t> ends;     // of the pieces in the text, in bytes; ascending
  std::vector<size_t> sources;  // of each; empty: unknown, and taken in proportion
  size_t source_pieces = 0;
};

// Appends a translation with the marks of its source, each exactly once, text and marks as `markup`
// has them. Tags stand around the words that come from what they enclosed; an element stays inside
// the one that it was inside, and the result is balanced where the source was. A point stands
// beside the word that it stood beside. Marks divide no word. REQUIRES: the tags nest.
void append_with_marks(const AlignedText& translation, std::span<const SentenceMark> marks,
                       text::Markup markup, std::string& out);

}  // namespace residual::decode
