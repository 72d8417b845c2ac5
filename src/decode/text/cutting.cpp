#include "decode/text/cutting.h"

#include <algorithm>
#include <string>
#include <utility>

#include "text/whitespace.h"

namespace residual::decode {

using text::Mark;
using text::Markup;

Cutter::Cutter(std::string text, Markup markup, text::SentenceSplitter* splitter)
    : text_(std::move(text)), markup_(markup), splitter_(splitter) {
  if (markup != Markup::none) {
    document_ = text::parse_document(text_, markup);
  } else {
    document_.passages.push_back({.before = {}, .text = text_, .marks = {}});
  }
}

bool Cutter::begin_passage() {
  if (passage_ > 0) {  // what is left of the one before
    const auto& done = document_.passages[passage_ - 1];
    skip_to(done.text.size(), done.marks.size());
  }
  if (passage_ == document_.passages.size()) return false;
  const text::Passage& passage = document_.passages[passage_++];
  before_ += passage.before;
  at_ = mark_ = 0;
  if (splitter_ != nullptr) {
    // A line end ends a sentence, but in HTML it is a space.
    std::string flat = passage.text;
    if (markup_ == Markup::html) std::ranges::replace(flat, '\n', ' ');
    if (markup_ == Markup::html) std::ranges::replace(flat, '\r', ' ');
    for (const auto found : (*splitter_)(flat)) {
      const auto at = static_cast<size_t>(found.data() - flat.data());
      sentences_.push_back(std::string_view(passage.text).substr(at, found.size()));
    }
  } else {
    const auto all = text::without_outer_whitespace(passage.text);
    if (!all.empty()) sentences_.push_back(all);
  }
  return true;
}

std::string_view Cutter::next() {
  while (sentences_.empty()) {
    if (passage_ == document_.passages.size() || !begin_passage()) return {};
  }
  const std::string_view sentence = sentences_.front();
  sentences_.pop_front();
  ++count_;
  return sentence;
}

bool Cutter::is_last() const { return sentences_.empty() && passage_ == document_.passages.size(); }

// Moves text up to a byte, and marks up to one, to before_, in the order that they have.
void Cutter::skip_to(size_t at, size_t mark) {
  const text::Passage& passage = document_.passages[passage_ - 1];
  const auto add_text = [&](size_t end) {
    if (end <= at_) return;
    text::append_escaped(std::string_view(passage.text).substr(at_, end - at_), markup_, before_);
    at_ = end;
  };
  for (; mark_ < mark; ++mark_) {
    add_text(passage.marks[mark_].at);
    before_ += passage.marks[mark_].raw;
  }
  add_text(at);
}

Cutter::Cut Cutter::take(std::string_view part) {
  const text::Passage& passage = document_.passages[passage_ - 1];
  const auto& marks = passage.marks;
  const auto begin = static_cast<size_t>(part.data() - passage.text.data());
  const size_t end = begin + part.size();
  // Of the marks at the begin of the part, those from the first element on that it has whole.
  size_t first = mark_;
  const auto has_whole = [&](const Mark& mark) {
    if (mark.kind != Mark::Kind::open || mark.partner == Mark::kNone) return false;
    const size_t close = marks[mark.partner].at;
    return close > begin && close <= end;
  };
  while (first < marks.size() &&
         (marks[first].at < begin || (marks[first].at == begin && !has_whole(marks[first])))) {
    ++first;
  }
  // Of those at its end, those up to the last tag of an element that begins in it.
  size_t last = first;
  for (size_t i = first; i < marks.size() && marks[i].at <= end; ++i) {
    const bool closes = marks[i].kind == Mark::Kind::close && marks[i].partner != Mark::kNone &&
                        marks[i].partner >= first;
    if (marks[i].at < end || closes) last = i + 1;
  }
  skip_to(begin, first);
  Cut cut = {.before = std::move(before_), .marks = {}};
  before_.clear();
  for (size_t i = first; i < last; ++i) {
    Mark& mark = cut.marks.emplace_back(marks[i]);
    mark.at -= begin;
    const bool has_partner =
        mark.partner != Mark::kNone && mark.partner >= first && mark.partner < last;
    mark.partner = has_partner ? mark.partner - first : Mark::kNone;
  }
  at_ = end;
  mark_ = last;
  // White space around a line without markup does not count.
  if (markup_ == Markup::none && !has_cut_) cut.before.clear();
  has_cut_ = true;
  const auto behind = static_cast<size_t>(passage.before.data() - text_.data());
  const size_t passage_begin =
      passage.before.data() == nullptr ? 0 : behind + passage.before.size();
  source_end_ = std::min(text_.size(), passage_begin + end);
  return cut;
}

std::string Cutter::rest() {
  while (begin_passage()) sentences_.clear();
  before_ += document_.after;
  return markup_ == Markup::none ? "" : std::move(before_);
}

}  // namespace residual::decode
