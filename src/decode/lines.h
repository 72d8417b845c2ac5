#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/crew.h"
#include "decode/options.h"
#include "decode/rules/phrases.h"
#include "decode/terminology.h"
#include "decode/text_tools.h"

namespace residual::decode {

// What is done about a line with more tokens than the model has positions.
enum class LongLines { split, refuse };
constexpr auto names(LongLines) { return std::array{"split", "refuse"}; }

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

  double log_probability() const;  // of all of it
};

struct Translation {
  std::vector<std::string> source_pieces;
  std::vector<Output> outputs;  // best first; at least one
};

// A line on its way from TextToTokens to TokensToText.
struct Line {
  uint64_t number = 0;
  std::vector<std::vector<int32_t>> parts;  // tokens, each part with </s>; none: nothing to say
  std::vector<int32_t> prefix;              // of the first part
  std::vector<std::vector<std::string>> pieces;         // of the parts' sources, if wanted
  std::vector<std::shared_ptr<const Phrases>> phrases;  // by part; null: none
  std::vector<Crew::Outcome> outcomes;                  // by part
  size_t missing = 0;                                   // outcomes not there yet
  std::exception_ptr error;
};

// Fails at a word that is no text, and would take longer to segment than anybody means to wait.
void check_words(std::string_view text, const char* what, uint64_t number);

std::vector<std::string> symbols(std::span<const int32_t> ids, const text::Vocabulary& vocabulary);

struct TextToTokensOptions {
  int64_t max_positions;
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
  // Errors name the line.
  std::shared_ptr<Line> line(const SourceLine& given, uint64_t number);
  // Once it is true, source() fails: a long text takes seconds.
  void set_unwanted(std::shared_ptr<const std::atomic<bool>> unwanted) {
    unwanted_ = std::move(unwanted);
  }

 private:
  // REQUIRES: they are the tokens of source(text), the last one that was called.
  void add_part(Line& line, std::vector<int32_t> tokens, std::string_view text,
                const std::vector<std::string>& wanted);
  // What the translation of a text contains: phrases that are given, and its terms.
  std::shared_ptr<const Phrases> phrases(std::string_view text, std::vector<std::string> wanted,
                                         uint64_t number);
  void encode(std::string_view text, const text::LineTransform& to_pieces,
              const text::Vocabulary& vocabulary, std::vector<int32_t>& ids);
  bool fits(const std::vector<int32_t>& tokens) const;

  const TextTools& tools_;
  const TextToTokensOptions options_;
  text::LineTransform to_source_, to_target_;
  std::string pieces_;
  // The last line's: thousands may have the same, and it may be long.
  std::string prefix_;
  std::vector<int32_t> prefix_tokens_;  // with </s>; empty: there was no line yet
  std::shared_ptr<const std::atomic<bool>> unwanted_;
};

// Tokens to text, for one thread.
class TokensToText {
 public:
  // REQUIRES: both live longer.
  TokensToText(const TextTools& tools, const SearchOptions& search);

  Translation translation(const Line& line);

 private:
  // A part is its tag, its pieces, </s>. The tag is ours, and nobody is told of it.
  size_t tags() const { return tools_.source_tag.empty() ? 0 : 1; }
  size_t pieces_of(const std::vector<int32_t>& part) const { return part.size() - 1 - tags(); }
  // The rank-th hypotheses of all parts, one after the other.
  Output joined(const Line& line, size_t rank);
  void append_text(const Line& line, size_t part, const Hypothesis& hypothesis, std::string& text);
  // The piece of the source with the most attention, without tag and </s>.
  size_t attended(const std::vector<float>& attention) const;

  const TextTools& tools_;
  const SearchOptions& search_;
  text::LineTransform to_text_;
};

}  // namespace residual::decode
