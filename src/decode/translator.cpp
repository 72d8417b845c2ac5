#include "decode/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "decode/split.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

void copy_line(std::string_view line, std::string& out) { out += line; }

text::LineTransform made(const std::function<text::LineTransform()>& make) {
  return make ? make() : copy_line;
}

std::vector<std::string> symbols(std::span<const int32_t> ids, const Vocabulary& vocabulary) {
  std::vector<std::string> out;
  for (const int32_t id : ids) out.emplace_back(vocabulary.symbol(id));
  return out;
}

std::vector<std::shared_ptr<const model::Directory>> opened(const std::vector<fs::path>& paths) {
  require(!paths.empty(), "no model is given");
  std::vector<std::shared_ptr<const model::Directory>> directories;
  for (const auto& path : paths) {
    directories.push_back(std::make_shared<model::Directory>(model::Directory::open(path)));
  }
  return directories;
}

std::vector<std::shared_ptr<const Weights>> loaded(
    std::span<const std::shared_ptr<const model::Directory>> directories, Precision precision) {
  std::vector<std::shared_ptr<const Weights>> weights;
  for (const auto& directory : directories) weights.push_back(load_weights(directory, precision));
  return weights;
}

int64_t shortest_positions(std::span<const std::shared_ptr<const Weights>> models) {
  int64_t positions = models[0]->config().max_positions;
  for (const auto& model : models) positions = std::min(positions, model->config().max_positions);
  return positions;
}

// Pairs that go through the decoder together, at most; fewer, if they have so many tokens.
constexpr int64_t kPairs = 32;
constexpr size_t kPairTokens = 4096;

// Fails at a word that is no text, and would take longer to segment than anybody means to wait.
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

// With room for hypotheses that have any number of so many tokens.
std::shared_ptr<const SearchOptions> widened(SearchOptions search, int64_t tokens) {
  search.beam = std::min(search.beam + tokens, kWidestBeam);
  return std::make_shared<const SearchOptions>(search);
}

}  // namespace

double Output::log_probability() const {
  return std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

// A line on its way.
struct Translator::Line {
  uint64_t number = 0;
  std::vector<std::vector<int32_t>> parts;  // tokens, each part with </s>; none: nothing to say
  std::vector<int32_t> prefix;              // of the first part
  std::vector<std::shared_ptr<const Phrases>> phrases;  // by part; null: none
  std::vector<Crew::Outcome> outcomes;                  // by part
  size_t missing = 0;                                   // outcomes not there yet
  std::exception_ptr error;
};

// Text to tokens, for one thread.
class Translator::Reader {
 public:
  Reader(const Translator& translator, const TextTools& tools,
         const Terminology* terminology = nullptr)
      : t_(translator),
        tools_(tools),
        terminology_(terminology),
        to_source_(made(tools.to_source_pieces)),
        to_target_(made(tools.to_target_pieces)) {}

  std::vector<int32_t> source(std::string_view text) {
    std::vector<int32_t> ids;
    if (!tools_.source_tag.empty()) {
      ids.push_back(tools_.source_vocabulary->id(tools_.source_tag));
    }
    encode(text, to_source_, *tools_.source_vocabulary, ids);
    return ids;
  }
  std::vector<int32_t> target(std::string_view text) {
    std::vector<int32_t> ids;
    encode(text, to_target_, *tools_.target_vocabulary, ids);
    return ids;
  }

  // Fails, with its place, if the vocabulary has no symbols for all of it.
  std::vector<int32_t> phrase(std::string_view text, const std::string& place) {
    std::vector<int32_t> tokens = target(text);
    tokens.pop_back();  // </s>
    require(!tokens.empty() && std::ranges::count(tokens, Vocabulary::kUnk) == 0,
            "{}: the model cannot write \"{}\", it has no symbols for all of it", place, text);
    return tokens;
  }

  std::shared_ptr<Line> line(const SourceLine& given, uint64_t number) {
    check_words(given.text, "line", number);
    check_words(given.prefix, "prefix of line", number);
    auto line = std::make_shared<Line>();
    line->number = number;
    const size_t empty = tools_.source_tag.empty() ? 1 : 2;
    std::vector<int32_t> whole = source(given.text);
    if (whole.size() == empty) return line;
    if (fits(whole)) {
      line->parts.push_back(std::move(whole));
      line->phrases.push_back(phrases(given.text, given.phrases, number));
    } else {
      require(
          given.phrases.empty(),
          "line {}: is to be split, and its phrases might belong to any part; split it yourself",
          number);
      require(t_.options_.long_lines == LongLines::split,
              "line {}: has {} tokens, the model takes {}; allow it to be split, or shorten it",
              number, whole.size(), t_.max_positions_);
      const auto part_fits = [&](std::string_view part) { return fits(source(part)); };
      for (const auto part : split_to_fit(given.text, part_fits)) {
        std::vector<int32_t> tokens = source(part);
        require(fits(tokens), "line {}: a character of it makes {} tokens, the model takes {}",
                number, tokens.size(), t_.max_positions_);
        if (tokens.size() == empty) continue;  // characters that no piece stands for
        line->parts.push_back(std::move(tokens));
        line->phrases.push_back(phrases(part, {}, number));
      }
    }
    line->outcomes.resize(line->parts.size());
    line->missing = line->parts.size();
    line->prefix = target(given.prefix);
    require(fits(line->prefix), "line {}: its prefix has {} tokens, the model takes {}", number,
            line->prefix.size() - 1, t_.max_positions_ - 1);
    line->prefix.pop_back();  // </s>
    return line;
  }

 private:
  // What the translation of a text contains: phrases that are given, and its terms.
  std::shared_ptr<const Phrases> phrases(std::string_view text, std::vector<std::string> wanted,
                                         uint64_t number) {
    if (terminology_ != nullptr) {
      for (auto& term : terminology_->in(text)) wanted.push_back(std::move(term));
    }
    if (wanted.empty()) return nullptr;
    wanted.resize(std::min(wanted.size(), Phrases::kMost));
    std::vector<std::vector<int32_t>> tokens;
    for (const auto& each : wanted) tokens.push_back(phrase(each, fmt::format("line {}", number)));
    return std::make_shared<Phrases>(std::move(tokens), t_.joints());
  }

  void encode(std::string_view text, const text::LineTransform& to_pieces,
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
  bool fits(const std::vector<int32_t>& tokens) const {
    return static_cast<int64_t>(tokens.size()) <= t_.max_positions_;
  }

  const Translator& t_;
  const TextTools& tools_;
  const Terminology* terminology_;
  text::LineTransform to_source_, to_target_;
  std::string pieces_;
};

// Tokens to text, for one thread.
class Translator::Writer {
 public:
  Writer(const TextTools& tools, const SearchOptions& search)
      : tools_(tools), search_(search), to_text_(made(tools.to_text)) {}

  Translation translation(Line& line) {
    Translation made;
    size_t count = line.parts.empty() ? 1 : static_cast<size_t>(search_.n_best);
    for (const auto& part : line.parts) {
      const auto pieces =
          symbols(std::span(part).subspan(tags(), pieces_of(part)), *tools_.source_vocabulary);
      made.source_pieces.insert(made.source_pieces.end(), pieces.begin(), pieces.end());
    }
    for (const auto& outcome : line.outcomes) count = std::min(count, outcome.hypotheses.size());
    for (size_t rank = 0; rank < count; ++rank) made.outputs.push_back(joined(line, rank));
    std::ranges::stable_sort(made.outputs, std::greater<>(), &Output::score);
    return made;
  }

 private:
  // A part is its tag, its pieces, </s>. The tag is ours, and nobody is told of it.
  size_t tags() const { return tools_.source_tag.empty() ? 0 : 1; }
  size_t pieces_of(const std::vector<int32_t>& part) const { return part.size() - 1 - tags(); }

  // The rank-th hypotheses of all parts, one after the other.
  Output joined(const Line& line, size_t rank) {
    Output all;
    size_t source = 0, source_pieces = 0;
    for (const auto& part : line.parts) source_pieces += pieces_of(part);
    for (size_t p = 0; p < line.parts.size(); ++p) {
      const Hypothesis& h = line.outcomes[p].hypotheses[rank];
      const size_t pieces = h.tokens.size() - 1;
      if (p > 0) all.log_probabilities.pop_back();  // of the </s> between
      all.tokens.insert(all.tokens.end(), h.tokens.begin(), h.tokens.end() - 1);
      all.log_probabilities.insert(all.log_probabilities.end(), h.log_probabilities.begin(),
                                   h.log_probabilities.end());
      for (size_t i = 0; i < pieces && !h.attention.empty(); ++i) {
        auto& row = all.attention.emplace_back(source_pieces);
        const auto from = h.attention[i].begin() + static_cast<std::ptrdiff_t>(tags());
        std::copy_n(from, pieces_of(line.parts[p]), row.begin() + source);
        all.attention_to_end.push_back(h.attention[i].back());
      }
      all.score = h.score;
      source += pieces_of(line.parts[p]);
      append_text(std::span(h.tokens).first(pieces), all.text);
    }
    if (line.parts.size() > 1) {
      const double sum =
          std::accumulate(all.log_probabilities.begin(), all.log_probabilities.end(), 0.0);
      all.score = normalised(search_, sum, static_cast<int64_t>(all.log_probabilities.size()));
    }
    all.pieces = symbols(all.tokens, *tools_.target_vocabulary);
    return all;
  }

  void append_text(std::span<const int32_t> tokens, std::string& text) {
    if (!text.empty()) text += ' ';
    to_text_(tools_.target_vocabulary->decode(tokens), text);
  }

  const TextTools& tools_;
  const SearchOptions& search_;
  text::LineTransform to_text_;
};

// Lines in order, from the thread that reads them to the one that delivers them. Those whose
// translation has not come yet may outlive a call that failed, so that all share it.
class Translator::Conveyor {
 public:
  explicit Conveyor(size_t limit) : limit_(limit) {}

  // Waits for room; false: nobody wants lines any more.
  bool push(std::shared_ptr<Line> line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || lines_.size() < limit_; });
    if (stopped_) return false;
    lines_.push_back(std::move(line));
    changed_.notify_all();
    return true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  void complete(Line& line, size_t part, Crew::Outcome outcome) {
    const std::lock_guard lock(mutex_);
    line.outcomes[part] = std::move(outcome);
    if (--line.missing == 0) changed_.notify_all();
  }
  // The next line once it is complete; null: there are no more.
  std::shared_ptr<Line> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.empty() ? ended_ : lines_.front()->missing == 0; });
    if (lines_.empty()) return nullptr;
    auto line = std::move(lines_.front());
    lines_.pop_front();
    changed_.notify_all();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Line>> lines_;
  size_t limit_;
  bool ended_ = false, stopped_ = false;
};

Translator::Translator(std::vector<std::shared_ptr<const Weights>> models, TextTools tools,
                       const TranslatorOptions& options)
    : options_(options),
      models_(std::move(models)),
      max_positions_(shortest_positions(models_)),
      tools_(std::move(tools)),
      crew_(models_, options.search, options.crew) {
  for (const auto& model : models_) {
    require(model->config().source_vocabulary == tools_.source_vocabulary->size() &&
                model->config().target_vocabulary == tools_.target_vocabulary->size(),
            "the model has {} source and {} target symbols, its vocabularies {} and {}",
            model->config().source_vocabulary, model->config().target_vocabulary,
            tools_.source_vocabulary->size(), tools_.target_vocabulary->size());
  }
  if (!options.shortlist.file.empty()) {
    check_shortlist(options.search, models_.size());
    shortlist_.emplace(options.shortlist, *tools_.source_vocabulary, *tools_.target_vocabulary);
  }
  if (!options.terms.empty()) {
    terminology_ = std::make_shared<Terminology>(Terminology::read(options.terms));
    if (tools_.to_target_pieces || tools_.pieces) {  // otherwise calls say what the target is
      Reader reader(*this, tools_);
      for (const auto& term : terminology_->terms()) {
        reader.phrase(term.target, options.terms.string());
      }
    }
  }
}

Translator::Translator(std::span<const std::shared_ptr<const model::Directory>> directories,
                       const TranslatorOptions& options)
    : Translator(loaded(directories, options.precision), TextTools::of(directories, options),
                 options) {}

Translator::Translator(const std::vector<fs::path>& models, const TranslatorOptions& options)
    : Translator(opened(models), options) {}

Translator::~Translator() = default;

std::shared_ptr<const Joints> Translator::joints() const {
  std::call_once(joints_once_,
                 [&] { joints_ = std::make_shared<Joints>(*tools_.target_vocabulary); });
  return joints_;
}

void Translator::pack() const {
  for (const auto& model : models_) model->pack();
}

void Translator::read(const Stream& stream, const std::shared_ptr<Conveyor>& conveyor) {
  auto line = std::make_shared<Line>();
  try {
    const uint64_t caller = ++callers_;
    const TextTools& tools = stream.terms.tools ? *stream.terms.tools : tools_;
    const auto& terminology = stream.terms.terminology ? stream.terms.terminology : terminology_;
    const SearchOptions& search = stream.terms.search ? *stream.terms.search : options_.search;
    Reader reader(*this, tools, search.sampling.is_on ? nullptr : terminology.get());
    for (uint64_t number = 1;; ++number) {
      const std::optional<SourceLine> given = stream.next();
      if (!given) break;
      line = reader.line(*given, number);
      if (!conveyor->push(line)) break;
      for (size_t p = 0; p < line->parts.size(); ++p) {
        Request request = {.caller = caller,
                           .source = line->parts[p],
                           .phrases = line->phrases[p],
                           .search = stream.terms.search,
                           .unwanted = stream.terms.unwanted};
        if (p == 0) request.prefix = line->prefix;
        if (request.phrases) request.search = widened(search, request.phrases->tokens());
        if (shortlist_) request.symbols = shortlist_->symbols(request.source, request.prefix);
        const auto done = [line, conveyor, p](Crew::Outcome outcome) {
          conveyor->complete(*line, p, std::move(outcome));
        };
        try {
          crew_.submit(std::move(request), done);
        } catch (...) {  // whoever waits for the line hears of it
          done({.error = std::current_exception()});
        }
      }
    }
  } catch (...) {
    auto failed = std::make_shared<Line>();
    failed->error = std::current_exception();
    conveyor->push(failed);
  }
  conveyor->end();
}

void Translator::translate(const Stream& stream) {
  // Far enough ahead that every thread finds a full batch waiting when its own ends.
  const int64_t ahead = 4 * crew_.batch_sentences() * crew_.threads();
  const auto conveyor = std::make_shared<Conveyor>(static_cast<size_t>(ahead));
  std::thread reader([&] { read(stream, conveyor); });
  try {
    Writer writer(stream.terms.tools ? *stream.terms.tools : tools_,
                  stream.terms.search ? *stream.terms.search : options_.search);
    while (const auto line = conveyor->pop()) {
      if (line->error) std::rethrow_exception(line->error);
      for (const auto& outcome : line->outcomes) {
        if (outcome.error) std::rethrow_exception(outcome.error);
      }
      stream.deliver(writer.translation(*line));
    }
  } catch (...) {
    conveyor->stop();
    stream.stop();
    reader.join();
    throw;
  }
  reader.join();
}

std::vector<Translation> Translator::translate(std::span<const std::string> lines) {
  std::vector<Translation> translations;
  size_t at = 0;
  translate({.next = [&]() -> std::optional<SourceLine> {
               if (at == lines.size()) return std::nullopt;
               return SourceLine{lines[at++], ""};
             },
             .deliver = [&](Translation t) { translations.push_back(std::move(t)); }});
  return translations;
}

std::vector<ScoredLine> Translator::score(std::span<const std::string> sources,
                                          std::span<const std::string> targets,
                                          uint64_t first) const {
  require(sources.size() == targets.size(), "there are {} source lines, but {} target lines",
          sources.size(), targets.size());
  pack();
  std::vector<ScoredLine> scored(sources.size());
  const auto count = static_cast<int64_t>(sources.size());
  const int64_t groups = (count + kPairs - 1) / kPairs;
  const int64_t threads = std::min<int64_t>(groups, crew_.threads());
  parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      for (int64_t group = thread; group < groups; group += threads) {
        const int64_t at = group * kPairs;
        const auto size = static_cast<size_t>(std::min(kPairs, count - at));
        score_group(sources.subspan(at, size), targets.subspan(at, size), first + at,
                    std::span(scored).subspan(at, size));
      }
    }
  });
  return scored;
}

void Translator::score_group(std::span<const std::string> sources,
                             std::span<const std::string> targets, uint64_t first,
                             std::span<ScoredLine> scored) const {
  Reader reader(*this, tools_);
  std::vector<Engine> engines;
  for (const auto& model : models_) engines.emplace_back(model);
  std::vector<Pair> pairs;
  size_t tokens = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const auto* text : {&sources[i], &targets[i]}) check_words(*text, "pair", first + i);
    pairs.push_back({reader.source(sources[i]), reader.target(targets[i])});
    const auto& [source, target] = pairs.back();
    const auto longest = std::max(source.size(), target.size());
    require(static_cast<int64_t>(longest) <= max_positions_,
            "pair {}: has {} tokens on a side, the model takes {}", first + i, longest,
            max_positions_);
    tokens += source.size() + target.size();
    if (tokens < kPairTokens && i + 1 < sources.size()) continue;
    const auto log_probabilities = decode::score(engines, pairs);
    for (size_t p = 0; p < pairs.size(); ++p) {
      ScoredLine& line = scored[i + 1 - pairs.size() + p];
      const auto& ids = pairs[p].target;
      line.pieces = symbols(std::span(ids).first(ids.size() - 1), *tools_.target_vocabulary);
      line.log_probabilities = log_probabilities[p];
      line.sum = std::accumulate(line.log_probabilities.begin(), line.log_probabilities.end(), 0.0);
    }
    pairs.clear();
    tokens = 0;
  }
}

}  // namespace residual::decode
