#include "decode/split.h"

#include <array>

namespace residual::decode {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";
constexpr std::array<std::string_view, 8> kSentenceEnds = {".",  "!",  "?",  ";",
                                                           "。", "！", "？", "；"};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool ends_sentence(std::string_view text) {
  for (const auto end : kSentenceEnds) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

std::vector<std::string_view> sentences(std::string_view text) {
  std::vector<std::string_view> found;
  size_t begin = 0;
  for (size_t at = text.find_first_of(kSpace); at != std::string_view::npos;
       at = text.find_first_of(kSpace, at + 1)) {
    if (!ends_sentence(text.substr(begin, at - begin))) continue;
    found.push_back(text.substr(begin, at - begin));
    begin = text.find_first_not_of(kSpace, at);
    at = begin;
  }
  found.push_back(text.substr(begin));
  return found;
}

// Where to cut a trimmed text in two: at white space near the middle, or before a character.
size_t middle(std::string_view text) {
  const size_t half = text.size() / 2;
  const size_t before = text.find_last_of(kSpace, half);
  const size_t after = text.find_first_of(kSpace, half);
  if (before == std::string_view::npos && after == std::string_view::npos) {
    size_t at = half;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;  // inside one
    return at > 0 ? at : text.size();
  }
  if (before == std::string_view::npos) return after;
  if (after == std::string_view::npos) return before;
  return half - before <= after - half ? before : after;
}

void split(std::string_view text, const std::function<bool(std::string_view)>& fits,
           std::vector<std::string_view>& parts) {
  text = trimmed(text);
  if (text.empty()) return;
  if (fits(text)) {
    parts.push_back(text);
    return;
  }
  const auto all = sentences(text);
  if (all.size() > 1) {
    for (const auto sentence : all) split(sentence, fits, parts);
    return;
  }
  const size_t at = middle(text);
  if (at == text.size()) {
    parts.push_back(text);
    return;
  }
  split(text.substr(0, at), fits, parts);
  split(text.substr(at), fits, parts);
}

}  // namespace

std::vector<std::string_view> split_to_fit(std::string_view text,
                                           const std::function<bool(std::string_view)>& fits) {
  std::vector<std::string_view> parts;
  split(text, fits, parts);
  return parts;
}

}  // namespace residual::decode
