#include "fetch/descriptions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fetch/markup.h"
#include "fetch/plausible.h"

namespace residual::fetch {
namespace {

template <class Body>
void for_each_line(std::string_view text, Body&& body) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    body(text.substr(at, end - at));
    at = end + 1;
  }
}

size_t indent(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Length of the mark that starts a list item, with the blanks after it, or 0.
size_t bullet(std::string_view text) {
  constexpr std::array<std::string_view, 8> kMarks = {"*", "-", "+", "o", "•", "·", "–", "—"};
  constexpr std::array<std::string_view, 3> kBlanks = {" ", "\u00A0", "\u202F"};
  for (const std::string_view mark : kMarks) {
    if (!text.starts_with(mark)) continue;
    const std::string_view rest = text.substr(mark.size());
    for (const std::string_view blank : kBlanks) {
      if (rest.starts_with(blank)) {
        return mark.size() + blank.size() + indent(rest.substr(blank.size()));
      }
    }
    // "*like this", but not "*emphasis*".
    if (mark == "*" && rest.find('*') == std::string_view::npos) return mark.size();
  }
  return 0;
}

// French typography ends list items with one, English does not.
void drop_final_semicolon(std::string& item) {
  if (!item.ends_with(';')) return;
  item.pop_back();
  for (const std::string_view blank : {" ", "\u00A0", "\u202F"}) {
    if (item.ends_with(blank)) item.resize(item.size() - blank.size());
  }
}

// Collects the lines of one description into paragraphs and items.
class Collector {
 public:
  void line(std::string_view line) {
    const size_t blanks = indent(line);
    std::string_view text = line.substr(blanks);
    if (text == "." || text.empty()) {
      end_paragraph();
      return;
    }
    const size_t mark = bullet(text);
    text.remove_prefix(mark);
    // Policy 5.6.13: a line that begins with two blanks is shown as it is, on a line of its own;
    // below a list item it is the item's continuation.
    const bool verbatim = blanks > 1 && !in_bullet_;
    if (mark > 0 || verbatim || was_verbatim_) end_item();
    if (mark > 0) in_bullet_ = true;
    // Back at the margin after an item without a mark: many lists are written like this.
    was_verbatim_ = verbatim && mark == 0;
    item_ += item_.empty() ? "" : " ";
    item_ += text;
  }

  Paragraphs take() {
    end_paragraph();
    return std::move(paragraphs_);
  }

 private:
  void end_item() {
    std::string text = with_single_blanks(item_);
    if (in_bullet_) drop_final_semicolon(text);
    if (!text.empty()) items_.push_back(std::move(text));
    item_.clear();
  }

  void end_paragraph() {
    end_item();
    if (!items_.empty()) paragraphs_.push_back(std::move(items_));
    items_.clear();
    in_bullet_ = was_verbatim_ = false;
  }

  Paragraphs paragraphs_;
  std::vector<std::string> items_;
  std::string item_;
  bool in_bullet_ = false;
  bool was_verbatim_ = false;
};

}  // namespace

Paragraphs description_paragraphs(std::string_view description) {
  Collector collector;
  bool is_first = true;
  for_each_line(description, [&](std::string_view line) {
    collector.line(line);
    if (std::exchange(is_first, false)) collector.line(".");  // the short description
  });
  return collector.take();
}

void read_descriptions(std::string_view file, Descriptions& out) {
  std::string md5, text;
  bool in_description = false;
  const auto end_stanza = [&] {
    if (!md5.empty() && !text.empty()) {
      const auto [at, added] = out.try_emplace(md5, text);
      if (!added && text < at->second) at->second = text;
    }
    md5.clear();
    text.clear();
    in_description = false;
  };
  for_each_line(file, [&](std::string_view line) {
    constexpr std::string_view kMd5 = "Description-md5:", kText = "Description-";
    if (line.empty()) return end_stanza();
    if (line.starts_with(' ')) {
      if (in_description) text.append("\n").append(line);
      return;
    }
    in_description = false;
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (line.starts_with(kMd5)) {
      md5 = with_single_blanks(value);
    } else if (line.starts_with(kText)) {
      text = value.substr(indent(value));
      in_description = true;
    }
  });
  end_stanza();
}

std::vector<SentencePair> join_descriptions(const Descriptions& first, const Descriptions& second) {
  std::vector<SentencePair> pairs;
  for (const auto& [md5, text] : second) {
    const auto found = first.find(md5);
    if (found == first.end()) continue;
    Paragraphs a = description_paragraphs(found->second), b = description_paragraphs(text);
    if (a.size() != b.size()) continue;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].size() != b[i].size()) continue;
      for (size_t j = 0; j < a[i].size(); ++j) {
        SentencePair pair{std::move(a[i][j]), std::move(b[i][j])};
        if (is_plausible(pair)) pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

}  // namespace residual::fetch
