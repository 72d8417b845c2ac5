#include "decode/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "decode/split.h"
#include "text/whitespace.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

void copy_line(std::string_view line, std::string& out) { out += line; }

text::LineTransform made(const std::function<text::LineTransform()>& make) {
  return make ? make() : copy_line;
}

// Of a line in many parts: its matrix grows with the square of its length.
void check_attention(const Line& line, size_t count, size_t source_pieces) {
  constexpr size_t kMost = 64 << 20;  // numbers
  size_t rows = 0;
  for (const auto& outcome : line.outcomes) {
    for (size_t rank = 0; rank < count; ++rank) rows += outcome.hypotheses[rank].tokens.size();
  }
  require(rows * source_pieces <= kMost,
          "line {}: attention of {} pieces to {} of the source takes too much memory; split the "
          "line, or do without",
          line.number, rows, source_pieces);
}

}  // namespace

double Output::log_probability() const {
  return std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

void check_words(std::string_view text, const char* what, uint64_t number) {
  constexpr size_t kLongestWord = 100'000;
  if (text.size() <= kLongestWord) return;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    require(end - begin <= kLongestWord,
            "{} {}: has {} bytes without a space, more than {}; is it text?", what, number,
            end - begin, kLongestWord);
    begin = end + 1;
  }
}

std::vector<std::string> symbols(std::span<const int32_t> ids, const Vocabulary& vocabulary) {
  std::vector<std::string> out;
  for (const int32_t id : ids) out.emplace_back(vocabulary.symbol(id));
  return out;
}

TextToTokens::TextToTokens(const TextTools& tools, TextToTokensOptions options)
    : tools_(tools),
      options_(std::move(options)),
      to_source_(made(tools.to_source_pieces)),
      to_target_(made(tools.to_target_pieces)) {}

std::vector<int32_t> TextToTokens::source(std::string_view text) {
  require(!unwanted_ || !*unwanted_, "the translation was given up");
  std::vector<int32_t> ids;
  if (!tools_.source_tag.empty()) {
    ids.push_back(tools_.source_vocabulary->id(tools_.source_tag));
  }
  encode(text, to_source_, *tools_.source_vocabulary, ids);
  return ids;
}

std::vector<int32_t> TextToTokens::target(std::string_view text) {
  std::vector<int32_t> ids;
  encode(text, to_target_, *tools_.target_vocabulary, ids);
  return ids;
}

std::vector<int32_t> TextToTokens::phrase(std::string_view text, const std::string& place) {
  std::vector<int32_t> tokens = target(text);
  tokens.pop_back();  // </s>
  require(!tokens.empty() && std::ranges::count(tokens, Vocabulary::kUnk) == 0,
          "{}: the model cannot write \"{}\", it has no symbols for all of it", place, text);
  return tokens;
}

std::shared_ptr<Line> TextToTokens::line(const SourceLine& given, uint64_t number) {
  check_words(given.text, "line", number);
  auto line = std::make_shared<Line>();
  line->number = number;
  if (!prefix_tokens_.empty() && given.prefix == prefix_) {
    line->prefix = prefix_tokens_;
  } else {
    check_words(given.prefix, "prefix of line", number);
    line->prefix = target(given.prefix);
    prefix_ = given.prefix;
    prefix_tokens_ = line->prefix;
  }
  require(fits(line->prefix), "line {}: its prefix has {} tokens, the model takes {}", number,
          line->prefix.size() - 1, options_.max_positions - 1);
  line->prefix.pop_back();  // </s>
  const size_t empty = tools_.source_tag.empty() ? 1 : 2;
  std::vector<int32_t> whole = source(given.text);
  if (whole.size() == empty) return line;
  if (fits(whole)) {
    add_part(*line, std::move(whole), given.text, given.phrases);
  } else {
    require(given.phrases.empty(),
            "line {}: is to be split, and its phrases might belong to any part; split it yourself",
            number);
    require(options_.long_lines == LongLines::split,
            "line {}: has {} tokens, the model takes {}; allow it to be split, or shorten it",
            number, whole.size(), options_.max_positions);
    const auto part_fits = [&](std::string_view part) { return fits(source(part)); };
    for (const auto part : split_to_fit(given.text, part_fits)) {
      std::vector<int32_t> tokens = source(part);
      require(fits(tokens), "line {}: a character of it makes {} tokens, the model takes {}",
              number, tokens.size(), options_.max_positions);
      if (tokens.size() == empty) continue;  // characters that no piece stands for
      add_part(*line, std::move(tokens), part, {});
    }
  }
  line->outcomes.resize(line->parts.size());
  line->missing = line->parts.size();
  return line;
}

void TextToTokens::add_part(Line& line, std::vector<int32_t> tokens, std::string_view text,
                            const std::vector<std::string>& wanted) {
  line.parts.push_back(std::move(tokens));
  if (options_.with_pieces) {
    auto& pieces = line.pieces.emplace_back();
    text::for_each_token(pieces_, [&](std::string_view piece) { pieces.emplace_back(piece); });
  }
  line.phrases.push_back(phrases(text, wanted, line.number));
  if (!line.phrases.back()) return;
  const int64_t forced = line.phrases.back()->tokens() + static_cast<int64_t>(line.prefix.size());
  require(forced < options_.max_positions,
          "line {}: its prefix and phrases have {} tokens, the model takes {}", line.number, forced,
          options_.max_positions - 1);
}

std::shared_ptr<const Phrases> TextToTokens::phrases(std::string_view text,
                                                     std::vector<std::string> wanted,
                                                     uint64_t number) {
  require(wanted.size() <= Phrases::kMost,
          "line {}: its translation is to contain {} phrases, up to {} are possible", number,
          wanted.size(), Phrases::kMost);
  for (const auto& each : wanted) check_words(each, "phrase of line", number);
  if (options_.terminology != nullptr) {
    for (auto& term : options_.terminology->in(text)) wanted.push_back(std::move(term));
  }
  if (wanted.empty()) return nullptr;
  wanted.resize(std::min(wanted.size(), Phrases::kMost));
  std::vector<std::vector<int32_t>> tokens;
  for (const auto& each : wanted) {
    auto made = phrase(each, fmt::format("line {}", number));
    if (std::ranges::find(tokens, made) == tokens.end()) tokens.push_back(std::move(made));
  }
  return std::make_shared<Phrases>(std::move(tokens), options_.joints());
}

void TextToTokens::encode(std::string_view text, const text::LineTransform& to_pieces,
                          const Vocabulary& vocabulary, std::vector<int32_t>& ids) {
  pieces_.clear();
  to_pieces(text, pieces_);
  const size_t first = ids.size();
  vocabulary.encode(pieces_, ids);
  // A text that spells out "</s>" does not thereby end.
  for (size_t i = first; i + 1 < ids.size(); ++i) {
    if (ids[i] < Vocabulary::kUnk) ids[i] = Vocabulary::kUnk;
  }
}

bool TextToTokens::fits(const std::vector<int32_t>& tokens) const {
  return static_cast<int64_t>(tokens.size()) <= options_.max_positions;
}

TokensToText::TokensToText(const TextTools& tools, const SearchOptions& search)
    : tools_(tools), search_(search), to_text_(made(tools.to_text)) {}

Translation TokensToText::translation(const Line& line) {
  Translation made;
  size_t count = line.parts.empty() ? 1 : static_cast<size_t>(search_.n_best);
  for (const auto& part : line.parts) {
    const auto pieces =
        symbols(std::span(part).subspan(tags(), pieces_of(part)), *tools_.source_vocabulary);
    made.source_pieces.insert(made.source_pieces.end(), pieces.begin(), pieces.end());
  }
  for (const auto& outcome : line.outcomes) count = std::min(count, outcome.hypotheses.size());
  if (search_.with_attention) check_attention(line, count, made.source_pieces.size());
  for (size_t rank = 0; rank < count; ++rank) made.outputs.push_back(joined(line, rank));
  std::ranges::stable_sort(made.outputs, std::greater<>(), &Output::score);
  return made;
}

Output TokensToText::joined(const Line& line, size_t rank) {
  Output all;
  double coverage = 0;
  size_t source = 0, source_pieces = 0;
  for (const auto& part : line.parts) source_pieces += pieces_of(part);
  for (size_t p = 0; p < line.parts.size(); ++p) {
    // Alternatives are of the first part's beginning; the others have their best translation.
    const Hypothesis& h = line.outcomes[p].hypotheses[p > 0 && search_.alternatives ? 0 : rank];
    const size_t pieces = h.tokens.size() - 1;
    if (p > 0) all.log_probabilities.pop_back();  // of the </s> between
    all.tokens.insert(all.tokens.end(), h.tokens.begin(), h.tokens.end() - 1);
    all.log_probabilities.insert(all.log_probabilities.end(), h.log_probabilities.begin(),
                                 h.log_probabilities.end());
    for (size_t i = 0; i < pieces && search_.with_attention; ++i) {
      auto& row = all.attention.emplace_back(source_pieces);
      const auto from = h.attention[i].begin() + static_cast<std::ptrdiff_t>(tags());
      std::copy_n(from, pieces_of(line.parts[p]), row.begin() + source);
      all.attention_to_end.push_back(h.attention[i].back());
    }
    all.score = h.score;
    coverage += h.coverage;
    source += pieces_of(line.parts[p]);
    append_text(line, p, h, all.text);
  }
  if (line.parts.size() > 1) {
    const double sum =
        std::accumulate(all.log_probabilities.begin(), all.log_probabilities.end(), 0.0);
    const auto tokens = static_cast<int64_t>(all.log_probabilities.size());
    all.score = normalised(search_, sum, tokens) + coverage;
  }
  all.pieces = symbols(all.tokens, *tools_.target_vocabulary);
  return all;
}

void TokensToText::append_text(const Line& line, size_t part, const Hypothesis& h,
                               std::string& text) {
  const size_t given = part == 0 ? line.prefix.size() : 0;
  std::string pieces;
  for (size_t i = 0; i + 1 < h.tokens.size(); ++i) {
    const int32_t token = h.tokens[i];
    if (token == Vocabulary::kBos || token == Vocabulary::kPad) continue;
    if (!pieces.empty()) pieces += ' ';
    const bool is_replaced = search_.replace_unk && token == Vocabulary::kUnk && i >= given;
    pieces += is_replaced ? line.pieces[part].at(attended(h.attention[i]))
                          : tools_.target_vocabulary->symbol(token);
  }
  if (!text.empty()) text += ' ';
  to_text_(pieces, text);
}

size_t TokensToText::attended(const std::vector<float>& attention) const {
  const auto first = attention.begin() + static_cast<std::ptrdiff_t>(tags());
  return std::max_element(first, attention.end() - 1) - first;
}

}  // namespace residual::decode
