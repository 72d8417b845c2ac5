#include "fetch/markup.h"

#include <array>
#include <utility>

#include "text/lines.h"

namespace residual::fetch {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Length of the tag that starts at text[at], or 0: "<", perhaps "/", a letter, no other "<", ">".
size_t tag_length(std::string_view text, size_t at) {
  const size_t name = at + 1 < text.size() && text[at + 1] == '/' ? at + 2 : at + 1;
  if (name >= text.size() || !is_letter(text[name])) return 0;
  const size_t end = text.find_first_of("<>", name);
  return end != std::string_view::npos && text[end] == '>' ? end + 1 - at : 0;
}

}  // namespace

void remove_all(std::string& text, std::string_view part) { replace_all(text, part, ""); }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t start = 0;
  for (; at != std::string::npos; start = at + from.size(), at = text.find(from, start)) {
    out.append(text, start, at - start);
    out += to;
  }
  text = out.append(text, start);
}

std::string segment_text(std::string_view line) {
  constexpr std::string_view kOpen = "<seg id=\"", kClose = "</seg>";
  std::string out;
  for (size_t at = 0; at < line.size();) {
    if (line.substr(at).starts_with(kOpen)) {
      size_t end = at + kOpen.size();
      while (end < line.size() && is_digit(line[end])) ++end;
      if (line.substr(end).starts_with("\">")) {
        at = end + 2;
        while (at < line.size() && is_blank(line[at])) ++at;
        continue;
      }
    }
    if (line.substr(at).starts_with(kClose)) {
      while (!out.empty() && is_blank(out.back())) out.pop_back();
      at += kClose.size();
      while (at < line.size() && is_blank(line[at])) ++at;
      continue;
    }
    out += line[at++];
  }
  return out;
}

void write_segments(const std::vector<fs::path>& inputs, const fs::path& output,
                    Apostrophes apostrophes) {
  AtomicFile file(output);
  for (const fs::path& input : inputs) {
    text::for_each_line(input, text::Invalid::refuse, [&](std::string_view line, uint64_t) {
      if (line.find("<seg id") == std::string_view::npos) return;
      std::string text = segment_text(line);
      if (apostrophes == Apostrophes::straight) replace_all(text, "\u2019", "'");
      file.write(text + "\n");
    });
  }
  file.commit();
}

std::string without_tags(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t tag = text[at] == '<' ? tag_length(text, at) : 0;
    if (tag == 0) out += text[at];
    at += tag == 0 ? 1 : tag;
  }
  // &amp; last: "&amp;lt;" is the text "&lt;".
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEntities = {
      {{"&lt;", "<"},
       {"&gt;", ">"},
       {"&quot;", "\""},
       {"&apos;", "'"},
       {"&#39;", "'"},
       {"&nbsp;", " "},
       {"&amp;", "&"}}};
  for (const auto& [entity, character] : kEntities) replace_all(out, entity, character);
  return out;
}

std::string with_single_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_blank(c)) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace residual::fetch
