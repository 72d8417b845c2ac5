#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/crew.h"
#include "decode/options.h"
#include "decode/rules/phrases.h"
#include "decode/terminology.h"
#include "decode/text/cutting.h"
#include "decode/text/doubts.h"
#include "decode/text/placing.h"
#include "decode/text_tools.h"
#include "text/markup/markup.h"
#include "text/sentences.h"

namespace residual::decode {

// What is done about a sentence with more tokens than the model has positions.
enum class LongLines { split, refuse };
constexpr auto names(LongLines) { return std::array{"split", "refuse"}; }

// Whether each sentence of a line is translated by itself.
enum class Sentences { split, keep };
constexpr auto names(Sentences) { return std::array{"split", "keep"}; }

// How a line becomes sentences.
struct TextOptions {
  Sentences sentences = Sentences::split;
  text::Markup markup = text::Markup::none;
};

inline void fields(ConfigVisitor& visit, TextOptions& o) {
  visit.choice("sentences", o.sentences,
               "lines with several sentences: split them and join the translations, or keep each "
               "line as one sentence");
  visit.choice("markup", o.markup,
               "what stays as it is: none, nothing; text, white space around lines, URLs, e-mail "
               "addresses, and placeholders such as {name} and %s; html, also tags and entities");
}

struct SourceLine {
  std::string text;
  std::string prefix;                     // text that the translation begins with, in whole words
  std::vector<std::string> phrases = {};  // texts that it contains, in whole words
};

struct Output {
  std::string text;
  std::vector<std::string> pieces;
  std::vector<int32_t> tokens;           // of the pieces
  std::vector<float> log_probabilities;  // of the pieces, then of </s>
  // [pieces][source pieces], if wanted; what is missing to a sum of 1 went to </s> and to the
  // direction's tag.
  std::vector<std::vector<float>> attention;
  std::vector<float> attention_to_end;  // that of each piece to </s>
  double score = 0;                     // of a split line: as if it were one
  Doubts doubts;                        // about any of its sentences

  double log_probability() const;  // of all of it
};

struct Translation {
  std::vector<std::string> source_pieces;
  std::vector<Output> outputs;  // best first; at least one
};

// A sentence of a line, or a part of one that is too long.
struct Part {
  std::string before;           // what stands between it and the part before, as it is
  std::vector<int32_t> tokens;  // with </s>
  std::vector<int32_t> prefix;
  std::vector<std::string> pieces;         // of the source, if wanted
  std::shared_ptr<const Phrases> phrases;  // null: none
  std::vector<SentenceMark> marks;
  size_t source_end = 0;   // bytes of the line up to its end
  bool continues = false;  // the alternatives of its line are its own
  bool ends_line = false;  // surely; at most white space and markup follow it
  bool is_done = false;    // the outcome is there
  Crew::Outcome outcome = {};
};

// A line on its way from TextToTokens to TokensToText. Parts come and go, in order.
struct Line {
  uint64_t number = 0;
  text::Markup markup = text::Markup::none;
  std::deque<std::shared_ptr<Part>> parts;
  bool is_whole = false;  // no more parts come
  std::string after;      // the last part, then
  std::exception_ptr error;
};

// How far a line is: the text of its best translation that was added last, without what may still
// follow it, and the bytes of its source up to there. At the end of the source nothing else is
// translated.
struct Progressed {
  std::string_view added;
  size_t source_bytes;
  bool is_end = false;
};

// Fails at a word that is no text, and would take longer to segment than anybody means to wait.
void check_words(std::string_view text, const char* what, uint64_t number);

std::vector<std::string> symbols(std::span<const int32_t> ids, const text::Vocabulary& vocabulary);

struct TextToTokensOptions {
  int64_t max_positions;
  TextOptions text;
  LongLines long_lines = LongLines::split;
  const Terminology* terminology = nullptr;
  std::function<std::shared_ptr<const Joints>()> joints;  // of the target's vocabulary
  bool with_pieces = false;  // of sources, as they are before they become ids
};

// Text to tokens, for one thread.
class TextToTokens {
 public:
  // REQUIRES: the tools live longer.
  TextToTokens(const TextTools& tools, TextToTokensOptions options);

  std::vector<int32_t> source(std::string_view text);
  std::vector<int32_t> target(std::string_view text);
  // Fails, with its place, if the vocabulary has no symbols for all of it. Without </s>.
  std::vector<int32_t> phrase(std::string_view text, const std::string& place);
  // Begins a line, whose parts next() then gives, one at a time; null: no more. Errors name the
  // line.
  std::shared_ptr<Line> begin(SourceLine given, uint64_t number);
  std::shared_ptr<Part> next();
  // What stands after the last part.
  std::string rest() { return cutter_->rest(); }
  // Once it is true, source() fails: a long text takes seconds.
  void set_unwanted(std::shared_ptr<const std::atomic<bool>> unwanted) {
    unwanted_ = std::move(unwanted);
  }

 private:
  // Puts the parts of a sentence that is too long into parts_.
  void split_sentence(std::string_view sentence, size_t tokens);
  // REQUIRES: they are the tokens of source(text), the last one that was called.
  std::shared_ptr<Part> make_part(std::string_view text, std::vector<int32_t> tokens);
  // The marks of a part, by the pieces before them.
  std::vector<SentenceMark> by_pieces(const std::vector<text::Mark>& marks, std::string_view text,
                                      size_t pieces);
  std::vector<int32_t> prefix_of_sentence();
  // What the translation of a text contains: phrases that are given, and its terms.
  std::shared_ptr<const Phrases> phrases(std::string_view text, std::vector<std::string> wanted);
  void encode(std::string_view text, const text::LineTransform& to_pieces,
              const text::Vocabulary& vocabulary, std::vector<int32_t>& ids);
  bool fits(const std::vector<int32_t>& tokens) const;
  size_t tags() const { return tools_.source_tag.empty() ? 0 : 1; }

  const TextTools& tools_;
  const TextToTokensOptions options_;
  text::LineTransform to_source_, to_target_;
  std::optional<text::SentenceSplitter> source_sentences_, target_sentences_;
  std::string pieces_;
  // The last one: thousands of lines may have the same, and it may be long.
  std::string prefix_;
  std::vector<int32_t> prefix_tokens_;  // with </s>; empty: there was none yet
  std::shared_ptr<const std::atomic<bool>> unwanted_;

  // The line.
  SourceLine given_;
  uint64_t number_ = 0;
  std::optional<Cutter> cutter_;
  std::deque<std::string_view> parts_;      // of a sentence, still to come
  bool is_first_ = false;                   // of them
  bool has_parts_ = false;                  // the line has
  std::vector<std::string_view> prefixes_;  // sentences of the prefix; the last may be empty
};

// Tokens to text, for one thread.
class TokensToText {
 public:
  // REQUIRES: both live longer.
  TokensToText(const TextTools& tools, const SearchOptions& search);

  // Adds the next part of a line.
  void add(const Line& line, const Part& part);
  // What the last part added to the text of the best translation.
  std::string_view added() const { return std::string_view(made_.outputs[0].text).substr(added_); }
  // The translation of the line, whose parts were all added.
  Translation take(const Line& line);

 private:
  // A part is its tag, its pieces, </s>. The tag is ours, and nobody is told of it.
  size_t tags() const { return tools_.source_tag.empty() ? 0 : 1; }
  size_t pieces_of(const Part& part) const { return part.tokens.size() - 1 - tags(); }
  void append(const Part& part, std::span<const std::string> source_pieces,
              const Hypothesis& hypothesis, Output& output);
  void append_text(const Line& line, const Part& part, const Hypothesis& hypothesis,
                   std::string& text);
  std::vector<std::string> pieces_of_text(const Part& part, const Hypothesis& hypothesis) const;
  // The source piece that each piece comes from: the same piece, if both sides have it once (names,
  // numbers, signs), otherwise that with the most attention. Empty: unknown.
  std::vector<size_t> sources_of(const Part& part, const Hypothesis& hypothesis,
                                 const std::vector<std::string>& pieces) const;
  // Where each piece of a text ends in it.
  std::vector<size_t> ends_in(std::string_view text, const std::vector<std::string>& pieces);
  void check_attention(const Line& line) const;
  // The piece of the source with the most attention, without tag and </s>.
  size_t attended(const std::vector<float>& attention) const;

  const TextTools& tools_;
  const SearchOptions& search_;
  text::LineTransform to_text_;

  // The line.
  Translation made_;
  std::vector<double> coverage_;  // of the outputs
  size_t parts_ = 0;
  size_t added_ = 0;
};

}  // namespace residual::decode
