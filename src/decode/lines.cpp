#include "decode/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

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

// The first `count` pieces, with spaces between them.
std::string joined(const std::vector<std::string>& pieces, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].empty()) continue;
    if (!text.empty()) text += ' ';
    text += pieces[i];
  }
  return text;
}

// The sentences of a prefix, the last one without its end: empty, if all have one.
std::vector<std::string_view> prefix_sentences(std::string_view prefix,
                                               std::optional<text::SentenceSplitter>& splitter) {
  if (!splitter || prefix.empty()) return {prefix};
  const std::string continued = std::string(prefix) + " A";  // which begins a sentence, or does not
  std::vector<std::string_view> found;
  for (const auto sentence : (*splitter)(continued)) {
    const auto begin = static_cast<size_t>(sentence.data() - continued.data());
    found.push_back(begin < prefix.size() ? prefix.substr(begin, sentence.size())
                                          : std::string_view());
  }
  return found;
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
      to_target_(made(tools.to_target_pieces)) {
  if (options_.text.sentences == Sentences::keep) return;
  if (tools.source_sentences) source_sentences_.emplace(*tools.source_sentences);
  if (tools.target_sentences) target_sentences_.emplace(*tools.target_sentences);
}

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

std::shared_ptr<Line> TextToTokens::begin(SourceLine given, uint64_t number) {
  if (options_.text.markup != text::Markup::html) check_words(given.text, "line", number);
  check_words(given.prefix, "prefix of line", number);
  number_ = number;
  given_ = std::move(given);
  // Phrases may belong to any sentence, so a line with phrases stays one.
  auto* const splitter =
      source_sentences_ && given_.phrases.empty() ? &*source_sentences_ : nullptr;
  cutter_.emplace(std::exchange(given_.text, {}), options_.text.markup, splitter);
  prefixes_ = prefix_sentences(given_.prefix, target_sentences_);
  parts_.clear();
  has_parts_ = false;
  auto line = std::make_shared<Line>();
  line->number = number;
  line->markup = options_.text.markup;
  return line;
}

std::shared_ptr<Part> TextToTokens::next() {
  for (;;) {
    const bool is_rest = !parts_.empty();  // of a sentence
    const std::string_view text = is_rest ? parts_.front() : cutter_->next();
    if (text.empty()) return nullptr;
    if (!is_rest && options_.text.markup == text::Markup::html) check_words(text, "line", number_);
    std::vector<int32_t> tokens = source(text);
    if (is_rest) {
      parts_.pop_front();
      require(fits(tokens), "line {}: a character of it makes {} tokens, the model takes {}",
              number_, tokens.size(), options_.max_positions);
    } else {
      is_first_ = true;
      if (!fits(tokens)) {
        split_sentence(text, tokens.size());
        continue;
      }
    }
    if (tokens.size() > tags() + 1) return make_part(text, std::move(tokens));
  }
}

void TextToTokens::split_sentence(std::string_view sentence, size_t tokens) {
  require(given_.phrases.empty(),
          "line {}: is to be split, and its phrases might belong to any part; split it yourself",
          number_);
  require(options_.long_lines == LongLines::split,
          "line {}: has {} tokens, the model takes {}; allow it to be split, or shorten it",
          number_, tokens, options_.max_positions);
  const auto part_fits = [&](std::string_view part) { return fits(source(part)); };
  const auto parts = split_to_fit(sentence, part_fits);
  parts_.assign(parts.begin(), parts.end());
}

std::shared_ptr<Part> TextToTokens::make_part(std::string_view text, std::vector<int32_t> tokens) {
  auto part = std::make_shared<Part>();
  part->tokens = std::move(tokens);
  if (options_.with_pieces) {
    text::for_each_token(pieces_, [&](std::string_view p) { part->pieces.emplace_back(p); });
  }
  Cutter::Cut cut = cutter_->take(text);
  part->before = std::move(cut.before);
  const bool is_first_part = !std::exchange(has_parts_, true);
  if (part->before.empty() && !is_first_part) part->before = tools_.joint;
  part->marks = by_pieces(cut.marks, text, part->tokens.size() - tags() - 1);
  part->source_end = cutter_->source_end();
  part->ends_line = parts_.empty() && cutter_->is_last();
  if (std::exchange(is_first_, false)) {
    part->prefix = prefix_of_sentence();
    const size_t count = cutter_->sentence() + 1;
    part->continues = count == prefixes_.size() || (count < prefixes_.size() && cutter_->is_last());
  }
  part->phrases = phrases(text, given_.phrases);
  if (!part->phrases) return part;
  const int64_t forced = part->phrases->tokens() + static_cast<int64_t>(part->prefix.size());
  require(forced < options_.max_positions,
          "line {}: its prefix and phrases have {} tokens, the model takes {}", number_, forced,
          options_.max_positions - 1);
  return part;
}

std::vector<SentenceMark> TextToTokens::by_pieces(const std::vector<text::Mark>& marks,
                                                  std::string_view text, size_t pieces) {
  if (marks.empty()) return {};
  std::vector<SentenceMark> made;
  size_t count = 0, at = 0;
  const auto count_to = [&](size_t end) {
    if (end > at) count += source(text.substr(at, end - at)).size() - tags() - 1;
    at = end;
  };
  for (const auto& mark : marks) {
    count_to(mark.at);
    const auto is_space = [&](size_t i) { return text::whitespace_at(text, i) > 0; };
    SentenceMark& placed = made.emplace_back();
    placed.mark = mark;
    placed.mark.at = count;
    placed.has_space_before = mark.at > 0 && is_space(text::previous_code_point(text, mark.at));
    placed.has_space_after = mark.at < text.size() && is_space(mark.at);
  }
  count_to(text.size());
  // Text between marks may have other pieces than the same text as a whole.
  for (auto& placed : made) placed.mark.at = placed.mark.at * pieces / std::max<size_t>(1, count);
  return made;
}

std::vector<int32_t> TextToTokens::prefix_of_sentence() {
  const size_t sentence = cutter_->sentence();
  if (sentence >= prefixes_.size()) return {};
  std::string_view text = prefixes_[sentence];
  if (cutter_->is_last() && !text.empty()) {  // all the rest
    text = std::string_view(given_.prefix).substr(text.data() - given_.prefix.data());
  }
  if (text.empty()) return {};
  if (text != prefix_ || prefix_tokens_.empty()) {
    prefix_tokens_ = target(text);
    prefix_ = text;
  }
  require(fits(prefix_tokens_), "line {}: its prefix has {} tokens, the model takes {}", number_,
          prefix_tokens_.size() - 1, options_.max_positions - 1);
  return {prefix_tokens_.begin(), prefix_tokens_.end() - 1};
}

std::shared_ptr<const Phrases> TextToTokens::phrases(std::string_view text,
                                                     std::vector<std::string> wanted) {
  require(wanted.size() <= Phrases::kMost,
          "line {}: its translation is to contain {} phrases, up to {} are possible", number_,
          wanted.size(), Phrases::kMost);
  for (const auto& each : wanted) check_words(each, "phrase of line", number_);
  if (options_.terminology != nullptr) {
    for (auto& term : options_.terminology->in(text)) wanted.push_back(std::move(term));
  }
  if (wanted.empty()) return nullptr;
  wanted.resize(std::min(wanted.size(), Phrases::kMost));
  std::vector<std::vector<int32_t>> tokens;
  for (const auto& each : wanted) {
    auto made = phrase(each, fmt::format("line {}", number_));
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

void TokensToText::add(const Line& line, const Part& part) {
  const auto& hypotheses = part.outcome.hypotheses;
  const bool is_list = !search_.alternatives || part.continues;
  const size_t most = is_list ? hypotheses.size() : std::numeric_limits<size_t>::max();
  const size_t before = parts_ == 0 ? static_cast<size_t>(search_.n_best) : made_.outputs.size();
  made_.outputs.resize(std::min(before, most));
  coverage_.resize(made_.outputs.size());
  const auto pieces =
      symbols(std::span(part.tokens).subspan(tags(), pieces_of(part)), *tools_.source_vocabulary);
  for (size_t rank = 0; rank < made_.outputs.size(); ++rank) {
    const Hypothesis& h = hypotheses[is_list ? rank : 0];
    Output& output = made_.outputs[rank];
    if (rank == 0) added_ = output.text.size();
    append(part, pieces, h, output);
    append_text(line, part, h, output.text);
    output.score = h.score;
    coverage_[rank] += h.coverage;
  }
  made_.source_pieces.insert(made_.source_pieces.end(), pieces.begin(), pieces.end());
  ++parts_;
  check_attention(line);
}

void TokensToText::check_attention(const Line& line) const {
  constexpr size_t kMost = 64 << 20;  // numbers: the matrix grows with the square of the length
  size_t rows = 0;
  for (const auto& output : made_.outputs) rows += output.attention.size();
  require(rows * made_.source_pieces.size() <= kMost,
          "line {}: attention of {} pieces to {} of the source takes too much memory; split the "
          "line, or do without",
          line.number, rows, made_.source_pieces.size());
}

void TokensToText::append(const Part& part, std::span<const std::string> source_pieces,
                          const Hypothesis& h, Output& output) {
  const std::span<const int32_t> tokens(h.tokens.data(), h.tokens.size() - 1);  // without </s>
  auto& all = output.log_probabilities;
  if (!all.empty()) all.pop_back();  // of the </s> between
  all.insert(all.end(), h.log_probabilities.begin(), h.log_probabilities.end());
  output.tokens.insert(output.tokens.end(), tokens.begin(), tokens.end());
  const auto pieces = symbols(tokens, *tools_.target_vocabulary);
  output.pieces.insert(output.pieces.end(), pieces.begin(), pieces.end());
  output.doubts.add(doubts_about(tokens, std::span(part.tokens).subspan(tags(), pieces_of(part))));
  output.doubts.is_copy |= is_copy(pieces, source_pieces);
  for (size_t i = 0; i < tokens.size() && search_.with_attention; ++i) {
    const auto from = h.attention[i].begin() + static_cast<std::ptrdiff_t>(tags());
    auto& row = output.attention.emplace_back(made_.source_pieces.size());
    row.insert(row.end(), from, from + static_cast<std::ptrdiff_t>(pieces_of(part)));
    output.attention_to_end.push_back(h.attention[i].back());
  }
}

Translation TokensToText::take(const Line& line) {
  if (parts_ == 0) made_.outputs.resize(1);
  for (auto& output : made_.outputs) output.text += line.after;
  if (parts_ > 1) {
    for (size_t rank = 0; rank < made_.outputs.size(); ++rank) {
      Output& output = made_.outputs[rank];
      const auto tokens = static_cast<int64_t>(output.log_probabilities.size());
      output.score = normalised(search_, output.log_probability(), tokens) + coverage_[rank];
    }
  }
  for (auto& output : made_.outputs) {
    for (auto& row : output.attention) row.resize(made_.source_pieces.size());
  }
  std::ranges::stable_sort(made_.outputs, std::greater<>(), &Output::score);
  coverage_.clear();
  parts_ = added_ = 0;
  return std::exchange(made_, {});
}

std::vector<std::string> TokensToText::pieces_of_text(const Part& part, const Hypothesis& h) const {
  std::vector<std::string> pieces;
  for (size_t i = 0; i + 1 < h.tokens.size(); ++i) {
    const int32_t token = h.tokens[i];
    const bool is_silent = token == Vocabulary::kBos || token == Vocabulary::kPad;
    const bool is_replaced =
        search_.replace_unk && token == Vocabulary::kUnk && i >= part.prefix.size();
    pieces.emplace_back(is_silent     ? ""
                        : is_replaced ? part.pieces.at(attended(h.attention[i]))
                                      : tools_.target_vocabulary->symbol(token));
  }
  return pieces;
}

void TokensToText::append_text(const Line& line, const Part& part, const Hypothesis& h,
                               std::string& text) {
  const std::vector<std::string> pieces = pieces_of_text(part, h);
  std::string made;
  to_text_(joined(pieces, pieces.size()), made);
  if (!text.empty() || line.markup != text::Markup::none) text += part.before;
  AlignedText aligned = {.text = made, .source_pieces = pieces_of(part)};
  if (!part.marks.empty()) {
    aligned.ends = ends_in(made, pieces);
    aligned.sources = sources_of(part, h, pieces);
  }
  append_with_marks(aligned, part.marks, line.markup, text);
}

std::vector<size_t> TokensToText::sources_of(const Part& part, const Hypothesis& h,
                                             const std::vector<std::string>& pieces) const {
  if (h.attention.size() < pieces.size()) return {};
  std::map<std::string_view, std::pair<size_t, size_t>> places;  // number and place, by piece
  const auto source =
      symbols(std::span(part.tokens).subspan(tags(), pieces_of(part)), *tools_.source_vocabulary);
  for (size_t i = 0; i < source.size(); ++i) places[source[i]] = {places[source[i]].first + 1, i};
  std::vector<size_t> sources;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto same = places.find(pieces[i]);
    const bool is_copy = same != places.end() && same->second.first == 1 &&
                         std::ranges::count(pieces, pieces[i]) == 1;
    sources.push_back(is_copy ? same->second.second : attended(h.attention[i]));
  }
  return sources;
}

std::vector<size_t> TokensToText::ends_in(std::string_view text,
                                          const std::vector<std::string>& pieces) {
  std::vector<size_t> ends;
  size_t end = 0;
  std::string begin;
  for (size_t count = 1; count <= pieces.size(); ++count) {
    begin.clear();
    to_text_(joined(pieces, count), begin);
    const auto differs = std::ranges::mismatch(text, begin).in1;
    end = std::max(end, static_cast<size_t>(differs - text.begin()));
    ends.push_back(end);
  }
  return ends;
}

size_t TokensToText::attended(const std::vector<float>& attention) const {
  const auto first = attention.begin() + static_cast<std::ptrdiff_t>(tags());
  return std::max_element(first, attention.end() - 1) - first;
}

}  // namespace residual::decode
