#include "text/sentences.h"

#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "text/whitespace.h"

namespace residual::text {
namespace {

bool is_class(char32_t c, uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0;
}
bool is_letter(char32_t c) { return is_class(c, U_GC_L_MASK); }
bool is_digit(char32_t c) { return is_class(c, U_GC_ND_MASK); }
bool is_quote(char32_t c) {
  return c == '"' || c == '\'' || is_class(c, U_GC_PI_MASK | U_GC_PF_MASK);
}

char32_t first_of(std::string_view text) {
  size_t at = 0;
  return text.empty() ? 0 : next_code_point(text, at);
}
char32_t last_of(std::string_view text) {
  return text.empty() ? 0 : first_of(text.substr(previous_code_point(text, text.size())));
}

// The last word of a sentence that ends with a full stop, without it and without brackets and
// quotes before it.
std::string_view word_before_stop(std::string_view sentence) {
  sentence.remove_suffix(1);
  size_t begin = sentence.size();
  while (begin > 0) {
    const size_t before = previous_code_point(sentence, begin);
    if (whitespace_at(sentence, before) > 0) break;
    begin = before;
  }
  std::string_view word = sentence.substr(begin);
  while (!word.empty() && (is_class(first_of(word), U_GC_PS_MASK) || is_quote(first_of(word)))) {
    size_t size = 0;
    next_code_point(word, size);
    word.remove_prefix(size);
  }
  return word;
}

// "U.S", "z.B": single letters between stops.
bool is_acronym(std::string_view word) {
  bool has_stop = false, is_after_letter = false;
  for (size_t at = 0; at < word.size();) {
    const char32_t c = next_code_point(word, at);
    if (is_after_letter ? c != '.' : !is_letter(c)) return false;
    has_stop |= c == '.';
    is_after_letter = !is_after_letter;
  }
  return has_stop && is_after_letter;
}

bool is_number(std::string_view word) {
  for (size_t at = 0; at < word.size();) {
    if (!is_digit(next_code_point(word, at))) return false;
  }
  return !word.empty();
}

// "and so on": nothing follows it in its sentence but words in lower case.
bool ends_a_list(std::string_view word) {
  static const std::set<std::string_view> kAll = {"etc",   "ecc", "usw", "u.s.w", "usf", "osv",
                                                  "o.s.v", "enz", "itd", "itp",   "atd", "apod",
                                                  "stb",   "jne", "utt", "șamd"};
  return kAll.contains(word);
}

// Abbreviations that the tokeniser's lists lack, because Moses' do.
bool is_other_abbreviation(const std::string& language, std::string_view word) {
  static const std::map<std::string, std::set<std::string_view>> kAll = {
      {"es", {"Fil", "gr", "máx", "mín"}},
      {"it", {"Amn", "Arch", "es", "max", "min"}},
      {"nl", {"Nrs"}}};
  const auto found = kAll.find(language);
  return found != kAll.end() && found->second.contains(word);
}

}  // namespace

SentenceSplitter::SentenceSplitter(const std::string& language)
    : language_(without_region(language)),
      abbreviations_(std::make_shared<const Abbreviations>(language)) {
  UErrorCode status = U_ZERO_ERROR;
  breaks_.reset(icu::BreakIterator::createSentenceInstance(icu::Locale(language.c_str()), status));
  require(U_SUCCESS(status), "cannot load the sentence rules of \"{}\" ({})", language,
          u_errorName(status));
}

SentenceSplitter::SentenceSplitter(const SentenceSplitter& other)
    : language_(other.language_),
      breaks_(other.breaks_->clone()),
      abbreviations_(other.abbreviations_) {}

bool SentenceSplitter::is_end(std::string_view sentence, std::string_view rest) const {
  const char32_t last = last_of(sentence), next = first_of(rest);
  const bool is_closed = is_quote(last) || is_class(last, U_GC_PE_MASK);
  if (is_closed && u_islower(static_cast<UChar32>(next))) return false;
  if (is_class(last, U_GC_PS_MASK)) return false;  // "#![no_std]"
  const bool has_space = sentence.data() + sentence.size() != rest.data();
  if (!has_space && (last == '!' || last == '?')) return is_letter(next);
  if (last != '.') return true;
  if (!has_space) return false;
  const std::string_view word = word_before_stop(sentence);
  if (word.size() + 1 == sentence.size() && is_number(word)) return false;
  if (ends_a_list(word)) return true;
  if (is_acronym(word) || is_other_abbreviation(language_, word)) return false;
  const auto stop = abbreviations_->stop_after(std::string(word));
  return stop == Abbreviations::Stop::ends_sentence ||
         (stop == Abbreviations::Stop::belongs_before_number && !is_digit(next));
}

std::vector<std::string_view> SentenceSplitter::operator()(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  UText* const utf8 =
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status);
  breaks_->setText(utf8, status);
  utext_close(utf8);
  require(U_SUCCESS(status) && text.size() < INT32_MAX, "cannot find sentences in {} bytes ({})",
          text.size(), u_errorName(status));
  std::vector<std::string_view> sentences;
  size_t begin = 0;
  breaks_->first();
  for (int32_t next = breaks_->next(); next != icu::BreakIterator::DONE; next = breaks_->next()) {
    const auto end = static_cast<size_t>(next);
    while (begin < end && whitespace_at(text, begin) > 0) begin += whitespace_at(text, begin);
    const auto sentence = without_trailing_whitespace(text.substr(begin, end - begin));
    if (sentence.empty() || (end < text.size() && !is_end(sentence, text.substr(end)))) continue;
    sentences.push_back(sentence);
    begin = end;
  }
  return sentences;
}

}  // namespace residual::text
