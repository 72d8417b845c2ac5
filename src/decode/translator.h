#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "decode/crew.h"
#include "decode/lines.h"
#include "decode/options.h"
#include "decode/score.h"
#include "decode/shortlist.h"
#include "decode/terminology.h"
#include "decode/text_tools.h"
#include "model/directory.h"
#include "text/lines.h"
#include "text/vocabulary.h"

namespace residual::decode {

struct TranslatorOptions {
  SearchOptions search;
  CrewOptions crew;
  Precision precision = Precision::float32;
  std::string source, target;  // languages; empty if the model leaves no choice
  bool any_direction = false;  // or if every call says which, in its Terms
  bool pieces = false;         // lines are pieces between spaces, and so are translations
  TextOptions text;
  LongLines long_lines = LongLines::split;
  ShortlistOptions shortlist;
  fs::path terms;  // file of a Terminology; empty: none

  TextChoice text_choice() const { return {source, target, any_direction, pieces}; }
};

inline void fields(ConfigVisitor& visit, TranslatorOptions& o) {
  visit.choice("precision", o.precision,
               "precision of the matrices; never more than a model was exported with");
  visit("source", o.source, "source language, if the model has several");
  visit("target", o.target, "target language, if the model has several");
  visit("pieces", o.pieces,
        "lines are already segmented, and so are translations: pieces separated by spaces");
  fields(visit, o.text);
  visit.choice("long_lines", o.long_lines,
               "sentences with more tokens than the model has positions: split them, or refuse "
               "them");
  fields(visit, o.search);
  visit("terms", o.terms, "terminology that translations keep to, lines \"source<tab>target\"");
  visit("shortlist", o.shortlist.file,
        "restrict translations to frequent symbols and likely translations of the source: lines "
        "\"target source probability\" of residual shortlist or of Marian's tools");
  visit("shortlist_frequent", o.shortlist.frequent,
        "symbols of the shortlist from the beginning of the vocabulary", {.min = 0});
  visit("shortlist_best", o.shortlist.best,
        "symbols of the shortlist for each source symbol, at most", {.min = 0});
  visit("batch_tokens", o.crew.batch_tokens, "maximum source tokens in the batch of one thread",
        {.min = 1});
  visit("batch_sentences", o.crew.batch_sentences,
        "maximum sentences in the batch of one thread; 0: by the beam", {.min = 0});
}

// A line's own log-probabilities, given its source line.
struct ScoredLine {
  std::vector<std::string> pieces;       // of the target
  std::vector<float> log_probabilities;  // of the pieces, then of </s>
  double sum = 0;
};

// Raw text in, text out. A line's translation depends on the line alone: not on its neighbours,
// their order or number, nor on threads. Lines without a word give empty lines. Many threads may
// call one object at once: their sentences then share batches.
class Translator {
 public:
  // Directories of one model, or of several that decide together.
  Translator(const std::vector<fs::path>& models, const TranslatorOptions& options);
  // Models in memory.
  Translator(std::vector<std::shared_ptr<const Weights>> models, TextTools tools,
             const TranslatorOptions& options);
  ~Translator();

  // What a call may have of its own.
  struct Terms {
    std::shared_ptr<const SearchOptions> search;        // null: the translator's
    std::shared_ptr<const TextTools> tools;             // null: the translator's
    std::shared_ptr<const Terminology> terminology;     // null: the translator's
    std::optional<TextOptions> text;                    // none: the translator's
    std::shared_ptr<const std::atomic<bool>> unwanted;  // once true, the call fails soon
  };
  struct Stream {
    std::function<std::optional<SourceLine>()> next;  // in a thread of its own; nothing: the end
    std::function<void(Translation)> deliver;         // in the calling thread, in order
    std::function<void()> stop = [] {};  // must make a waiting next() return, after an error
    // If there is one: hears of each sentence of a line in order, before the line is delivered.
    std::function<void(const Progressed&)> progress = {};
    Terms terms = {};
  };
  // Delivers each line as soon as it and those before it are done, while next() waits for more.
  // Memory is bounded. Errors name the line, from 1, after all before it were delivered.
  void translate(const Stream& stream);
  std::vector<Translation> translate(std::span<const std::string> lines);

  // Pairs of lines; errors name the pair, counted from `first`. Neither side is split.
  std::vector<ScoredLine> score(std::span<const std::string> sources,
                                std::span<const std::string> targets, uint64_t first = 1) const;

  // Makes ready for many sentences, which otherwise the second one does.
  void pack() const;

  const model::Config& config() const { return models_[0]->config(); }
  const TextTools& tools() const { return tools_; }
  const TranslatorOptions& options() const { return options_; }

 private:
  class Conveyor;

  Translator(std::span<const std::shared_ptr<const model::Directory>> directories,
             const TranslatorOptions& options);
  void check() const;  // throws an Error if a model's file is damaged
  TextToTokens reader(const TextTools& tools, const TextOptions& text,
                      const Terminology* terminology = nullptr, bool with_pieces = false) const;
  std::shared_ptr<const Joints> joints() const;
  Request request_for(const Part& part, const SearchOptions& search, const Terms& terms) const;
  void read(const Stream& stream, const std::shared_ptr<Conveyor>& conveyor);
  // False: nobody wants lines any more.
  bool read_line(TextToTokens& texts, const std::shared_ptr<Line>& line, const Stream& stream,
                 uint64_t caller, const std::shared_ptr<Conveyor>& conveyor);
  void deliver(const Stream& stream, Conveyor& conveyor);
  void score_group(std::span<const std::string> sources, std::span<const std::string> targets,
                   uint64_t first, std::span<ScoredLine> scored) const;

  TranslatorOptions options_;
  std::atomic<uint64_t> callers_ = 0;
  std::vector<std::shared_ptr<const Weights>> models_;
  int64_t max_positions_;
  TextTools tools_;
  std::optional<Shortlist> shortlist_;
  std::shared_ptr<const Terminology> terminology_;  // or null
  mutable std::once_flag joints_once_;
  mutable std::shared_ptr<const Joints> joints_;  // of the target's vocabulary, once it is needed
  Crew crew_;
};

}  // namespace residual::decode
