#include "interop/flat_yaml.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace residual::interop {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

void append_utf8(uint32_t code_point, std::string& to) {
  char bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, code_point);
  to.append(bytes, static_cast<size_t>(size));
}

// One line, from left to right.
class Line {
 public:
  Line(std::string_view text, std::string where) : rest_(text), where_(std::move(where)) {}

  // Without quotes a key ends at a colon before a blank or the end, a value with the line.
  std::string key() { return scalar(std::min(rest_.find(": "), rest_.rfind(':'))); }
  std::string value() { return scalar(std::string_view::npos); }
  // Whether `text` comes next; then it is passed.
  bool pass(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string_view rest() const { return trimmed(rest_); }

 private:
  std::string scalar(size_t end) {
    const size_t begin = std::min(rest_.find_first_not_of(kBlanks), rest_.size());
    if (rest_.substr(begin).starts_with('"')) return double_quoted(begin);
    if (rest_.substr(begin).starts_with('\'')) return single_quoted(begin);
    std::string plain(trimmed(rest_.substr(0, end)));
    rest_.remove_prefix(std::min(end, rest_.size()));
    return plain;
  }
  std::string single_quoted(size_t begin) {
    std::string text;
    for (size_t i = begin + 1; i < rest_.size(); ++i) {
      if (rest_[i] != '\'') {
        text += rest_[i];
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '\'') {
        text += rest_[i++];
      } else {
        rest_.remove_prefix(i + 1);
        return text;
      }
    }
    fail("{}: unterminated quoted string", where_);
  }
  std::string double_quoted(size_t begin) {
    std::string text;
    for (size_t i = begin + 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return text;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        i = escaped(i + 1, text);
      } else {
        text += rest_[i];
      }
    }
    fail("{}: unterminated quoted string", where_);
  }
  // What follows a backslash at `i`; where it ends.
  size_t escaped(size_t i, std::string& text) const {
    constexpr std::string_view kLetters = "0abtnvfre \"/\\N_LP";
    constexpr uint32_t kMeanings[] = {0,   '\a', '\b', '\t', '\n', '\v', '\f',   '\r',  0x1B,
                                      ' ', '"',  '/',  '\\', 0x85, 0xA0, 0x2028, 0x2029};
    const char letter = rest_[i];
    const size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) {
      const size_t at = kLetters.find(letter);
      require(at != std::string_view::npos, "{}: unknown escape \\{}", where_, letter);
      append_utf8(kMeanings[at], text);
      return i;
    }
    uint32_t code_point = 0;
    const char* const begin = rest_.data() + i + 1;
    const char* const end = begin + std::min(digits, rest_.size() - i - 1);
    const auto [stop, error] = std::from_chars(begin, end, code_point, 16);
    const bool is_character =
        code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
    require(error == std::errc() && stop == begin + digits && is_character,
            "{}: \\{} is not followed by a character's number", where_, letter);
    append_utf8(code_point, text);
    return i + digits;
  }

  std::string_view rest_;
  std::string where_;
};

// The keys and values of one document, line by line.
class Document {
 public:
  Document(const std::string& name, Twice twice) : name_(name), twice_(twice) {}

  void add(std::string_view content, int64_t number) {
    const std::string where = fmt::format("{}, line {}", name_, number);
    Line line(content, where);
    if (waiting_ && line.pass(":")) return set(std::move(*waiting_), line, where);
    if (list_ != nullptr && line.pass("- ")) {
      list_->push_back(line.value());
      return;
    }
    if (line.pass("? ")) {
      waiting_ = line.value();
      return;
    }
    std::string key = line.key();
    require(line.pass(":"), "{}: expected \"key: value\", got \"{}\"", where, content);
    set(std::move(key), line, where);
  }
  bool expects_list() const { return list_ != nullptr; }
  std::map<std::string, std::vector<std::string>> take() { return std::move(values_); }

 private:
  void set(std::string key, Line& line, const std::string& where) {
    waiting_.reset();
    const auto [made, is_new] = values_.try_emplace(std::move(key));
    require(is_new || twice_ == Twice::first, "{}: {} appears twice", where, made->first);
    const std::string_view rest = line.rest();
    const bool is_null = rest == "[]" || rest == "~" || rest == "null";
    list_ = rest.empty() && is_new ? &made->second : nullptr;
    if (is_new && !rest.empty() && !is_null) made->second.push_back(line.value());
  }

  const std::string& name_;
  Twice twice_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string>* list_ = nullptr;  // of the latest key, while it has no scalar
  std::optional<std::string> waiting_;        // a key after "? "
};

}  // namespace

std::map<std::string, std::vector<std::string>> parse_flat_yaml(std::string_view text,
                                                                const std::string& name,
                                                                Twice twice) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Document document(name, twice);
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty() || content.starts_with('#') || content == "---") continue;
    if (content == "[]" && document.expects_list()) continue;
    document.add(content, number);
  }
  return document.take();
}

std::optional<int64_t> whole_number(std::string_view scalar) {
  int64_t number = 0;
  const char* const end = scalar.data() + scalar.size();
  const auto [stop, error] = std::from_chars(scalar.data(), end, number);
  if (error != std::errc() || stop != end) return {};
  return number;
}

}  // namespace residual::interop
