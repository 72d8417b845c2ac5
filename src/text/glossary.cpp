#include "text/glossary.h"

#include "base/error.h"

namespace residual::text {
namespace {

std::shared_ptr<const icu::RegexPattern> compile(const std::string& expression,
                                                 const std::string& entry) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where{};
  // Python's '.' and '$' know no line end but '\n'.
  std::shared_ptr<const icu::RegexPattern> pattern(icu::RegexPattern::compile(
      icu::UnicodeString::fromUTF8(expression), UREGEX_UNIX_LINES, where, status));
  require(U_SUCCESS(status), "glossary entry \"{}\": not a valid regular expression ({})", entry,
          u_errorName(status));
  return pattern;
}

icu::UnicodeString to_utf16(std::string_view text) {
  require(text.size() < INT32_MAX, "a word of {} bytes cannot be matched with a glossary",
          text.size());
  return icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::unique_ptr<icu::RegexMatcher> matcher(const icu::RegexPattern& pattern) {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::RegexMatcher> made(pattern.matcher(status));
  require(U_SUCCESS(status), "cannot use a glossary entry ({})", u_errorName(status));
  return made;
}

// Python's match(): somewhere, but from the start.
bool matches_at_start(icu::RegexMatcher& regex, const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  regex.reset(text);
  const bool found = regex.lookingAt(status);
  require(U_SUCCESS(status), "cannot match a glossary entry ({})", u_errorName(status));
  return found;
}

// Python's split() with the expression as a group: the text between the matches, each match, and
// its groups, without empty strings.
std::vector<std::string> split(icu::RegexMatcher& regex, const icu::UnicodeString& text) {
  std::vector<std::string> parts;
  const auto keep = [&](const icu::UnicodeString& part) {
    if (!part.isEmpty()) part.toUTF8String(parts.emplace_back());
  };
  UErrorCode status = U_ZERO_ERROR;
  regex.reset(text);
  int32_t done = 0;
  while (regex.find(status)) {
    keep(text.tempSubStringBetween(done, regex.start(status)));
    for (int32_t group = 0; group <= regex.groupCount(); ++group) {
      keep(regex.group(group, status));
    }
    done = regex.end(status);
  }
  require(U_SUCCESS(status), "cannot match a glossary entry ({})", u_errorName(status));
  keep(text.tempSubString(done));
  return parts;
}

}  // namespace

Glossary::Glossary(std::span<const std::string> entries) {
  std::string any;
  for (const std::string& entry : entries) {
    entries_.push_back(
        {.only = compile("^" + entry + "$", entry), .inside = compile(entry, entry)});
    any += (any.empty() ? "" : "|") + entry;
  }
  if (!entries.empty()) whole_ = compile("^(" + any + ")$", any);
}

Glossary::Matcher::Matcher(const Glossary& glossary) {
  if (glossary.empty()) return;
  whole_ = matcher(*glossary.whole_);
  for (const Entry& entry : glossary.entries_) {
    only_.push_back(matcher(*entry.only));
    inside_.push_back(matcher(*entry.inside));
  }
}

bool Glossary::Matcher::contains(std::string_view segment) {
  if (!whole_) return false;
  return matches_at_start(*whole_, to_utf16(segment));
}

std::vector<std::string> Glossary::Matcher::isolate(std::string_view word) {
  std::vector<std::string> segments{std::string(word)};
  for (size_t i = 0; i < only_.size(); ++i) {
    std::vector<std::string> next;
    for (const std::string& segment : segments) {
      const icu::UnicodeString text = to_utf16(segment);
      if (matches_at_start(*only_[i], text)) {
        next.push_back(segment);
      } else {
        for (std::string& part : split(*inside_[i], text)) next.push_back(std::move(part));
      }
    }
    segments = std::move(next);
  }
  return segments;
}

}  // namespace residual::text
