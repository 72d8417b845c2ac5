#include "decode/text/placing.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "text/unicode.h"
#include "text/whitespace.h"

namespace residual::decode {
namespace {

using text::Mark;

// What stays together: pieces of one word.
struct Unit {
  size_t begin, end;            // bytes of the text, without white space
  std::vector<size_t> sources;  // pieces
};

// An element, a point, or, as the root, all of the sentence.
struct Node {
  const SentenceMark *open = nullptr, *close = nullptr;  // or the point, as `open`
  bool is_point = false;
  size_t from = 0, to = 0;    // source pieces
  size_t begin = 0, end = 0;  // units of the translation
  bool is_after_space = true;
  std::vector<std::unique_ptr<Node>> children;  // in the order of the source

  bool begins_before() const { return open == nullptr; }
  bool ends_after() const { return close == nullptr && !is_point; }
  bool is_range() const { return !is_point && from < to; }
};

bool divides_word(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return false;
  if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) return true;
  const auto is_inside = [](char32_t c) {  // of a word in a script that has spaces
    const auto code = static_cast<UChar32>(c);
    return (U_GET_GC_MASK(code) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0 &&
           u_hasBinaryProperty(code, UCHAR_IDEOGRAPHIC) == 0;
  };
  size_t right = at, left = text::previous_code_point(text, at);
  return is_inside(text::next_code_point(text, left)) &&
         is_inside(text::next_code_point(text, right));
}

std::vector<Unit> units_of(const AlignedText& t) {
  std::vector<Unit> units;
  std::vector<size_t> sources;
  size_t begin = 0;
  for (size_t i = 0; i < t.ends.size(); ++i) {
    const bool is_last = i + 1 == t.ends.size();
    const size_t end = is_last ? t.text.size() : t.ends[i];
    sources.push_back(t.sources.empty() ? i * t.source_pieces / t.ends.size() : t.sources[i]);
    if (!is_last && (end <= begin || divides_word(t.text, end))) continue;
    const auto word = text::without_outer_whitespace(t.text.substr(begin, end - begin));
    if (word.empty() && !is_last) continue;
    const auto at = static_cast<size_t>(word.data() - t.text.data());
    if (!word.empty()) units.push_back({at, at + word.size(), std::move(sources)});
    sources.clear();
    begin = end;
  }
  return units;
}

std::unique_ptr<Node> tree_of(std::span<const SentenceMark> marks, size_t source_pieces) {
  auto root = std::make_unique<Node>();
  root->to = source_pieces;
  std::vector<Node*> path = {root.get()};
  for (size_t i = 0; i < marks.size(); ++i) {
    const Mark& mark = marks[i].mark;
    if (mark.kind == Mark::Kind::close) {
      if (mark.partner != Mark::kNone && path.size() > 1) {
        path.back()->close = &marks[i];
        path.back()->to = mark.at;
        path.pop_back();
      } else {  // its element has all that came so far
        auto node = std::make_unique<Node>();
        node->close = &marks[i];
        node->to = mark.at;
        node->children = std::move(path.back()->children);
        path.back()->children.clear();
        path.back()->children.push_back(std::move(node));
      }
      continue;
    }
    auto node = std::make_unique<Node>();
    node->open = &marks[i];
    node->is_point = mark.kind == Mark::Kind::point;
    node->from = mark.at;
    node->to = node->is_point ? mark.at : source_pieces;
    node->is_after_space = marks[i].has_space_before;
    Node* const made = node.get();
    path.back()->children.push_back(std::move(node));
    if (!made->is_point) path.push_back(made);
  }
  return root;
}

class Layout {
 public:
  Layout(const AlignedText& translation, text::Markup markup, std::string& out)
      : text_(translation.text), units_(units_of(translation)), markup_(markup), out_(out) {}

  void run(Node& root) {
    root.end = units_.size();
    place_children(root);
    emit_children(root, 0, text_.size());
    emit_text(text_.size());
  }

 private:
  // How many of a unit's pieces come from the node, minus those that do not.
  int64_t weight(size_t unit, const Node& node) const {
    int64_t sum = 0;
    for (const size_t source : units_[unit].sources) {
      sum += source >= node.from && source < node.to ? 1 : -1;
    }
    return sum;
  }

  // Gives a node the free units inside its parent that mostly come from it.
  void take_units(Node& node, const Node& parent, const std::vector<bool>& taken) const {
    int64_t best = 0, sum = 0;
    size_t start = parent.begin;
    node.begin = node.end = parent.begin;
    for (size_t i = parent.begin; i < parent.end; ++i) {
      if (taken[i - parent.begin] || sum < 0) {
        start = i + (taken[i - parent.begin] ? 1 : 0);
        sum = 0;
      }
      if (start > i) continue;
      sum += weight(i, node);
      if (sum <= best) continue;
      best = sum;
      node.begin = start;
      node.end = i + 1;
    }
  }
  // The same for one that reaches from its parent's begin.
  void take_first_units(Node& node, const Node& parent, const std::vector<bool>& taken) const {
    int64_t best = 0, sum = 0;
    node.begin = node.end = parent.begin;
    for (size_t i = parent.begin; i < parent.end && !taken[i - parent.begin]; ++i) {
      sum += weight(i, node);
      if (sum <= best) continue;
      best = sum;
      node.end = i + 1;
    }
  }
  // The same for one that reaches to its parent's end.
  void take_last_units(Node& node, const Node& parent, const std::vector<bool>& taken) const {
    int64_t best = 0, sum = 0;
    node.begin = node.end = parent.end;
    for (size_t i = parent.end; i > parent.begin && !taken[i - 1 - parent.begin]; --i) {
      sum += weight(i - 1, node);
      if (sum <= best) continue;
      best = sum;
      node.begin = i - 1;
    }
  }

  void place_children(Node& node) {
    std::vector<bool> taken(node.end - node.begin), inside(node.end - node.begin + 1);
    const auto take = [&](Node& child) {
      if (child.from == node.from && child.to == node.to) {
        child.begin = node.begin;
        child.end = node.end;
      } else if (child.ends_after()) {
        take_last_units(child, node, taken);
      } else if (child.begins_before()) {
        take_first_units(child, node, taken);
      } else {
        take_units(child, node, taken);
      }
      for (size_t i = child.begin; i < child.end; ++i) {
        taken[i - node.begin] = true;
        inside[i - node.begin] = i > child.begin;
      }
    };
    // Those with an end that is not free to choose come first.
    for (const bool is_free : {false, true}) {
      for (auto& child : node.children) {
        const bool is_its = child->begins_before() || child->ends_after();
        if (is_its != is_free && (child->is_range() || is_its)) take(*child);
      }
    }
    for (auto& child : node.children) {
      const bool is_bound = child->begins_before() || child->ends_after();
      if (child->begin == child->end && !is_bound) {
        child->begin = child->end = place_of(*child, node, inside);
      }
      place_children(*child);
    }
  }

  // Where a node without units goes: the number of units before it. `inside` has the places that
  // are inside a sibling.
  size_t place_of(const Node& child, const Node& parent, const std::vector<bool>& inside) const {
    const size_t place = wanted_place(child, parent);
    size_t after = place, before = place;
    while (inside[after - parent.begin]) ++after;  // the last place is never inside
    while (inside[before - parent.begin]) --before;
    return place - before < after - place ? before : after;
  }
  size_t wanted_place(const Node& child, const Node& parent) const {
    const auto comes_from = [&](size_t unit, size_t source) {
      return std::ranges::count(units_[unit].sources, source) > 0;
    };
    const auto before_next = [&] {
      size_t i = parent.begin;
      while (i < parent.end && !comes_from(i, child.from)) ++i;
      return i < parent.end ? i : Mark::kNone;
    };
    const auto after_previous = [&] {
      size_t i = child.from > 0 ? parent.end : parent.begin;
      while (i > parent.begin && !comes_from(i - 1, child.from - 1)) --i;
      return i > parent.begin ? i : Mark::kNone;
    };
    const size_t first = child.is_after_space ? before_next() : after_previous();
    if (first != Mark::kNone) return first;
    const size_t second = child.is_after_space ? after_previous() : before_next();
    if (second != Mark::kNone) return second;
    const double share = parent.to == parent.from
                             ? 0
                             : static_cast<double>(child.from - parent.from) /
                                   static_cast<double>(parent.to - parent.from);
    return parent.begin +
           static_cast<size_t>(std::lround(share * static_cast<double>(parent.end - parent.begin)));
  }

  // Bytes of the text at which a node begins and ends, inside its parent's.
  std::pair<size_t, size_t> bytes_of(const Node& node, size_t from, size_t to) const {
    size_t begin = from, end = to;
    if (node.begin < node.end) {
      if (!node.begins_before()) begin = units_[node.begin].begin;
      if (!node.ends_after()) end = units_[node.end - 1].end;
    } else if (node.ends_after()) {
      begin = to;
    } else if (node.begins_before()) {
      end = from;
    } else {
      const bool is_next = (node.is_after_space || node.begin == 0) && node.begin < units_.size();
      begin = is_next          ? units_[node.begin].begin
              : node.begin > 0 ? units_[node.begin - 1].end
                               : from;
      end = begin;
    }
    begin = std::clamp(begin, from, to);
    return {begin, std::clamp(end, begin, to)};
  }

  void emit_children(Node& node, size_t from, size_t to) {
    std::ranges::stable_sort(node.children, [](const auto& a, const auto& b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    // One that begins before the sentence stays first, and one that ends after it last.
    std::ranges::stable_partition(node.children, [](const auto& a) { return a->begins_before(); });
    std::ranges::stable_partition(node.children, [](const auto& a) { return !a->ends_after(); });
    for (auto& child : node.children) {
      const auto [begin, end] = bytes_of(*child, from, to);
      emit_text(begin);
      if (child->is_point) {
        emit_point(*child->open);
        continue;
      }
      if (child->open != nullptr) out_ += child->open->mark.raw;
      emit_children(*child, std::max(begin, done_), std::max(end, done_));
      emit_text(end);
      if (child->close != nullptr) out_ += child->close->mark.raw;
    }
  }

  void emit_text(size_t end) {
    if (end <= done_) return;
    const std::string_view text = text_.substr(done_, end - done_);
    done_ = end;
    size_t at = 0;
    const char32_t first = text::next_code_point(text, at);
    const bool is_punctuation = (U_GET_GC_MASK(static_cast<UChar32>(first)) &
                                 (U_GC_PE_MASK | U_GC_PF_MASK | U_GC_PO_MASK)) != 0;
    if (needs_space_ && !text::is_whitespace(first) && !is_punctuation) out_ += ' ';
    needs_space_ = false;
    text::append_escaped(text, markup_, out_);
    is_after_text_ = true;
  }

  void emit_point(const SentenceMark& point) {
    const bool is_spaced =
        out_.empty() || text::without_trailing_whitespace(out_).size() < out_.size();
    if (point.mark.is_word && point.has_space_before && is_after_text_ && !is_spaced) out_ += ' ';
    out_ += point.mark.raw;
    needs_space_ = point.mark.is_word && point.has_space_after;
    is_after_text_ = true;
  }

  std::string_view text_;
  std::vector<Unit> units_;
  text::Markup markup_;
  std::string& out_;
  size_t done_ = 0;  // bytes of the text
  bool needs_space_ = false, is_after_text_ = false;
};

}  // namespace

void append_with_marks(const AlignedText& translation, std::span<const SentenceMark> marks,
                       text::Markup markup, std::string& out) {
  if (marks.empty()) {
    text::append_escaped(translation.text, markup, out);
    return;
  }
  const auto root = tree_of(marks, translation.source_pieces);
  Layout(translation, markup, out).run(*root);
}

}  // namespace residual::decode
