#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/markup/markup.h"
#include "text/sentences.h"

namespace residual::decode {

// Cuts a line, or a whole document, into its sentences and what stands between them.
class Cutter {
 public:
  // Without splitter, each passage is one sentence. It must outlive the object.
  Cutter(std::string text, text::Markup markup, text::SentenceSplitter* splitter);
  Cutter(const Cutter&) = delete;
  Cutter& operator=(const Cutter&) = delete;

  // The next sentence, without white space around it. Empty: there are no more.
  std::string_view next();
  size_t sentence() const { return count_ - 1; }  // its number, from 0
  bool is_last() const;

  struct Cut {
    std::string before;             // what stands between the cut before and this one
    std::vector<text::Mark> marks;  // inside; `at` counts its bytes
  };
  // Takes a part of that sentence, or all of it. Parts come in order; what is between them stays.
  Cut take(std::string_view part);
  // What stands after the last cut.
  std::string rest();
  // Bytes of the text up to the last cut, about.
  size_t source_end() const { return source_end_; }

 private:
  bool begin_passage();
  void skip_to(size_t at, size_t mark);

  const std::string text_;
  const text::Markup markup_;
  text::SentenceSplitter* const splitter_;
  text::Document document_;
  size_t passage_ = 0;  // the next one
  std::deque<std::string_view> sentences_;
  size_t count_ = 0;          // of sentences that were given
  size_t at_ = 0, mark_ = 0;  // bytes and marks of the passage that were taken
  size_t source_end_ = 0;
  bool has_cut_ = false;
  std::string before_;
};

}  // namespace residual::decode
