#include "text/markup/html_tags.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

namespace residual::text {
namespace {

using Kind = HtmlToken::Kind;

// Elements that running text does not continue across, by the HTML standard's content categories.
const std::set<std::string, std::less<>> kBlocks = {
    "address",  "article",  "aside",      "audio",   "base",    "blockquote", "body",
    "br",       "button",   "canvas",     "caption", "center",  "col",        "colgroup",
    "dd",       "details",  "dialog",     "dir",     "div",     "dl",         "dt",
    "embed",    "fieldset", "figcaption", "figure",  "footer",  "form",       "frame",
    "frameset", "h1",       "h2",         "h3",      "h4",      "h5",         "h6",
    "head",     "header",   "hgroup",     "hr",      "html",    "legend",     "li",
    "link",     "main",     "map",        "menu",    "meta",    "nav",        "noscript",
    "object",   "ol",       "optgroup",   "option",  "p",       "param",      "picture",
    "search",   "section",  "select",     "source",  "summary", "table",      "tbody",
    "td",       "tfoot",    "th",         "thead",   "title",   "tr",         "track",
    "ul",       "video"};
// Elements that stay whole.
const std::set<std::string, std::less<>> kWhole = {"script", "style",  "textarea", "pre", "svg",
                                                   "math",   "iframe", "template", "xmp"};
// Elements that stay whole inside running text.
const std::set<std::string, std::less<>> kWholeInline = {"code", "kbd", "samp", "var", "tt"};
// Elements without contents inside running text.
const std::set<std::string, std::less<>> kVoid = {"img", "input", "wbr", "area"};

constexpr size_t kDeepest = 64;  // elements inside each other in one passage

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

struct Tag {
  size_t end = 0;  // behind its >; 0: it is no tag
  std::string_view name;
  bool is_close = false, is_self_closing = false;
};

// The tag that begins at html[begin], a "<".
Tag tag_at(std::string_view html, size_t begin) {
  Tag tag;
  size_t at = begin + 1;
  tag.is_close = at < html.size() && html[at] == '/';
  if (tag.is_close) ++at;
  if (at >= html.size() || !is_letter(html[at])) return {};
  const size_t name = at;
  while (at < html.size() && !is_space(html[at]) && html[at] != '>' && html[at] != '/' &&
         html[at] != '<') {
    ++at;
  }
  tag.name = html.substr(name, at - name);
  bool is_value = false;  // quotes matter behind = only
  for (; at < html.size(); ++at) {
    const char c = html[at];
    if (c == '>') {
      tag.is_self_closing = html[at - 1] == '/';
      tag.end = at + 1;
      return tag;
    }
    if ((c == '"' || c == '\'') && is_value) {
      at = html.find(c, at + 1);
      if (at == std::string_view::npos) return {};
    }
    if (c == '<') return {};
    if (!is_space(c)) is_value = c == '=';
  }
  return {};
}

bool forbids_translation(std::string_view tag) {
  const std::string text = lower(tag);
  for (const char* mark : {"translate=\"no\"", "translate='no'", "translate=no", "notranslate"}) {
    if (text.find(mark) != std::string::npos) return true;
  }
  return false;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view html) : html_(html) {}

  std::vector<HtmlToken> run() {
    for (size_t at = 0; at < html_.size();) {
      const size_t begin = html_.find('<', at);
      if (begin == std::string_view::npos) break;
      const size_t end = markup(begin);
      at = end > begin ? end : begin + 1;
    }
    add_text(html_.size());
    pair_up();
    return std::move(tokens_);
  }

 private:
  void add_text(size_t end) {
    if (done_ < end) tokens_.push_back({Kind::text, done_, end, {}});
    done_ = end;
  }
  size_t add(Kind kind, size_t begin, size_t end, std::string_view name = {}) {
    add_text(begin);
    tokens_.push_back({kind, begin, end, name});
    return done_ = end;
  }

  // Adds what begins at the "<" of html[begin], and returns its end; 0: it is text.
  size_t markup(size_t begin) {
    const std::string_view rest = html_.substr(begin);
    if (rest.starts_with("<!--")) return add(Kind::comment, begin, behind("-->", begin + 4));
    if (rest.starts_with("<![CDATA[")) return add(Kind::border, begin, behind("]]>", begin));
    if (rest.starts_with("<!") || rest.starts_with("<?")) {
      return add(Kind::border, begin, behind(">", begin));
    }
    const Tag tag = tag_at(html_, begin);
    if (tag.end == 0) return 0;
    const std::string name = lower(tag.name);
    const bool is_block = kBlocks.contains(name);
    if (!tag.is_close && !tag.is_self_closing) {
      const bool stays = !kVoid.contains(name) && name != "br" &&
                         forbids_translation(rest.substr(0, tag.end - begin));
      if (kWhole.contains(name)) return add(Kind::border, begin, end_of(name, tag.end));
      if (kWholeInline.contains(name)) return add(Kind::point, begin, end_of(name, tag.end));
      if (stays && name != "html" && name != "body") {
        return add(is_block ? Kind::border : Kind::point, begin, end_of(name, tag.end));
      }
    }
    if (is_block || kWhole.contains(name)) return add(Kind::border, begin, tag.end);
    if (kVoid.contains(name) || tag.is_self_closing) return add(Kind::point, begin, tag.end);
    return add(tag.is_close ? Kind::close : Kind::open, begin, tag.end, tag.name);
  }

  size_t behind(std::string_view mark, size_t from) const {
    const size_t at = html_.find(mark, from);
    return at == std::string_view::npos ? html_.size() : at + mark.size();
  }

  // The end of an element whose opening tag ends at `at`.
  size_t end_of(const std::string& name, size_t at) const {
    const bool is_raw = name == "script" || name == "style" || name == "textarea";
    int depth = 1;
    while (depth > 0) {
      at = html_.find('<', at);
      if (at == std::string_view::npos) return html_.size();
      const Tag tag = tag_at(html_, at);
      const bool is_it = tag.end > 0 && lower(tag.name) == name;
      if (is_it && tag.is_close) --depth;
      if (is_it && !tag.is_close && !tag.is_self_closing && !is_raw) ++depth;
      at = is_it ? tag.end : at + 1;
    }
    return at;
  }

  // Finds the partner of each closing tag. Tags without one become borders, and so do those with a
  // border between them.
  void pair_up() {
    std::vector<size_t> open;
    std::map<std::string, int> names;  // of those
    size_t border = HtmlToken::kNone;  // the last one
    const auto is_before = [&](size_t i) { return border == HtmlToken::kNone || border < i; };
    for (size_t i = 0; i < tokens_.size(); ++i) {
      HtmlToken& token = tokens_[i];
      if (token.kind == Kind::border) border = i;
      if (token.kind != Kind::open && token.kind != Kind::close) continue;
      const std::string name = lower(token.name);
      if (token.kind == Kind::open && open.size() == kDeepest) {
        make_border(i, border);
        continue;
      }
      if (token.kind == Kind::open) {
        open.push_back(i);
        ++names[name];
        continue;
      }
      if (names[name] == 0) {
        make_border(i, border);
        continue;
      }
      for (bool is_it = false; !is_it; open.pop_back()) {
        const std::string other = lower(tokens_[open.back()].name);
        --names[other];
        is_it = other == name;
        if (is_it) token.partner = open.back();
        if (!is_it) make_border(open.back(), border);
      }
      if (is_before(token.partner)) continue;
      make_border(token.partner, border);
      make_border(i, border);
    }
    for (const size_t i : open) make_border(i, border);
  }
  void make_border(size_t i, size_t& last) {
    tokens_[i].kind = Kind::border;
    if (last == HtmlToken::kNone || last < i) last = i;
  }

  std::string_view html_;
  std::vector<HtmlToken> tokens_;
  size_t done_ = 0;
};

}  // namespace

std::vector<HtmlToken> html_tokens(std::string_view html) { return Tokenizer(html).run(); }

}  // namespace residual::text
