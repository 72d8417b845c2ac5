#include "text/normalizer.h"

#include <algorithm>

#include "text/abbreviations.h"
#include "text/characters.h"
#include "text/unicode.h"

namespace residual::text {
namespace {

constexpr auto kNone = std::string::npos;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A line on its way through the substitutions of the script, in their order.
class Rewriter {
 public:
  explicit Rewriter(std::string_view line) : text_(line) {}
  const std::string& text() const { return text_; }

  bool has_non_ascii() const {
    return std::any_of(text_.begin(), text_.end(), [](char c) { return (c & 0x80) != 0; });
  }

  void replace(std::string_view from, std::string_view to) {
    rewrite(from, [&](size_t at) {
      next_ += to;
      return at + from.size();
    });
  }

  void squeeze_spaces() {
    rewrite("  ", [&](size_t at) {
      next_ += ' ';
      return std::min(text_.find_first_not_of(' ', at), text_.size());
    });
  }

  // `from` becomes `to` where holds(begin, end) says so of the place it stands at.
  template <class Condition>
  void replace_where(std::string_view from, std::string_view to, Condition&& holds) {
    rewrite(from, [&](size_t at) {
      const size_t end = at + from.size();
      next_ += holds(at, end) ? to : from;
      return end;
    });
  }

  void replace_after_digit(std::string_view from, std::string_view to) {
    replace_where(from, to, [&](size_t at, size_t) { return at > 0 && is_digit(text_[at - 1]); });
  }

  void replace_before_any_of(std::string_view from, std::string_view marks, std::string_view to) {
    replace_where(from, to, [&](size_t, size_t end) {
      return end < text_.size() && marks.find(text_[end]) != kNone;
    });
  }

  // Only between two characters that hold. As a match uses up both, a character serves one only.
  void replace_between(bool (*holds)(char), std::string_view from, std::string_view to) {
    size_t used = 0;
    replace_where(from, to, [&](size_t at, size_t end) {
      const bool match =
          at > used && holds(text_[at - 1]) && end < text_.size() && holds(text_[end]);
      if (match) used = end + 1;
      return match;
    });
  }

  // ", moves behind the stops and commas that follow it.
  void put_stops_inside() {
    rewrite("\"", [&](size_t at) {
      const size_t end = std::min(text_.find_first_not_of(",.", at + 1), text_.size());
      next_.append(text_, at + 1, end - at - 1);
      next_ += '"';
      return end;
    });
  }

  // ." becomes ". unless '<' follows. As the script matches \s*[^<] there, white space and the
  // character after it are used up by the match.
  void put_stops_outside() {
    rewrite(".", [&](size_t at) {
      const size_t quote = std::min(text_.find_first_not_of('.', at), text_.size());
      const size_t after = quote + 1;
      const bool moves = quote < text_.size() && text_[quote] == '"' &&
                         (after == text_.size() || text_[after] != '<');
      if (moves) next_ += '"';
      next_.append(text_, at, quote - at);
      if (!moves) return quote;
      size_t end = after;
      while (end < text_.size() && is_space(text_[end])) ++end;
      if (end < text_.size() && text_[end] != '<') ++end;
      next_.append(text_, after, end - after);
      return end;
    });
  }

 private:
  // Calls match(at) for each occurrence of `key` that it has not passed; it appends to next_ what
  // becomes of the text there and returns where to go on.
  template <class Match>
  void rewrite(std::string_view key, Match&& match) {
    size_t found = text_.find(key);
    if (found == kNone) return;
    next_.clear();
    size_t at = 0;
    for (; found != kNone; found = text_.find(key, at)) {
      next_.append(text_, at, found - at);
      at = match(found);
    }
    next_.append(text_, at, kNone);
    std::swap(text_, next_);
  }

  std::string text_, next_;
};

void normalize_spacing(Rewriter& line) {
  line.replace("\r", "");
  line.replace("(", " (");
  line.replace(")", ") ");
  line.squeeze_spaces();
  line.replace_before_any_of(") ", ".!:?;,", ")");
  line.replace("( ", "(");
  line.replace(" )", ")");
  line.replace_after_digit(" %", "%");
  line.replace(" :", ":");
  line.replace(" ;", ";");
  line.replace("`", "'");
  line.replace("''", " \" ");
}

void normalize_quotes(Rewriter& line) {
  for (const std::string_view quote : {"„", "“", "”"}) line.replace(quote, "\"");
  line.replace("–", "-");
  line.replace("—", " - ");
  line.squeeze_spaces();
  line.replace("´", "'");
  line.replace_between(is_letter, "‘", "'");
  line.replace_between(is_letter, "’", "'");
  line.replace("‘", "'");
  line.replace("‚", "'");
  line.replace("’", "\"");
  line.replace("''", "\"");
  line.replace("…", "...");
  line.replace("\u00A0«\u00A0", " \"");
  line.replace("«\u00A0", "\"");
  line.replace("«", "\"");
  line.replace("\u00A0»\u00A0", "\" ");
  line.replace("\u00A0»", "\"");
  line.replace("»", "\"");
}

void normalize_no_break_spaces(Rewriter& line) {
  line.replace("\u00A0%", "%");
  line.replace("nº\u00A0", "nº ");
  line.replace("\u00A0:", ":");
  line.replace("\u00A0ºC", " ºC");
  line.replace("\u00A0cm", " cm");
  line.replace("\u00A0?", "?");
  line.replace("\u00A0!", "!");
  line.replace("\u00A0;", ";");
  line.replace(",\u00A0", ", ");
}

}  // namespace

PunctuationNormalizer::PunctuationNormalizer(const std::string& code) {
  const std::string language = without_region(code);
  const bool czech = language == "cs" || language == "cz";
  quotation_ = language == "en" ? Quotation::stops_inside
               : czech          ? Quotation::untouched
                                : Quotation::stops_outside;
  between_digits_ = czech || language == "de" || language == "es" || language == "fr" ? ',' : '.';
}

void PunctuationNormalizer::operator()(std::string_view line, std::string& out) const {
  Rewriter text(line);
  normalize_spacing(text);
  const bool non_ascii = text.has_non_ascii();
  if (non_ascii) {
    normalize_quotes(text);
    normalize_no_break_spaces(text);
  }
  text.squeeze_spaces();
  if (quotation_ == Quotation::stops_inside) {
    text.put_stops_inside();
  } else if (quotation_ == Quotation::stops_outside) {
    text.replace(",\"", "\",");
    text.put_stops_outside();
  }
  if (non_ascii) {
    text.replace_between(is_digit, "\u00A0", std::string(1, between_digits_));
  }
  out += text.text();
}

void remove_non_printing(std::string_view line, std::string& out) {
  const auto& classes = CharacterClasses::unicode14();
  for (size_t at = 0; at < line.size();) {
    const size_t start = at;
    if (classes[next_code_point(line, at)] & kOther) {
      out += ' ';
    } else {
      out += line.substr(start, at - start);
    }
  }
}

void lowercase(std::string_view line, std::string& out) {
  for (size_t at = 0; at < line.size();) {
    const auto byte = static_cast<unsigned char>(line[at]);
    if (byte < 0x80) {
      out += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
      ++at;
      continue;
    }
    const char32_t c = next_code_point(line, at);
    if (c == 0x130) {
      out += "i\u0307";
    } else {
      append_utf8(out, lower(c));
    }
  }
}

}  // namespace residual::text
