#include "decode/translator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/instruction_set.h"

namespace residual::decode {
namespace {

std::vector<std::shared_ptr<const model::Directory>> opened(const std::vector<fs::path>& paths) {
  require(!paths.empty(), "no model is given");
  std::vector<std::shared_ptr<const model::Directory>> directories;
  for (const auto& path : paths) {
    directories.push_back(
        std::make_shared<model::Directory>(model::Directory::open(path, model::Check::later)));
  }
  return directories;
}

std::vector<std::shared_ptr<const Weights>> loaded(
    std::span<const std::shared_ptr<const model::Directory>> directories, Precision precision) {
  kernels::instruction_set();  // refuses a wrong RESIDUAL_CPU before any thread meets it
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

// Without groups, and with room for hypotheses that have any number of so many tokens of phrases.
std::shared_ptr<const SearchOptions> as_one_group(SearchOptions search, int64_t tokens = 0) {
  search.beam = std::min(search.beam + tokens, kWidestBeam);
  search.diverse_groups = 1;
  search.alternatives = false;
  return std::make_shared<const SearchOptions>(search);
}

}  // namespace

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
  // Adds a part to a line, once few enough of all lines are on their way; false as above.
  bool add(Line& line, std::shared_ptr<Part> part) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || parts_ < limit_; });
    if (stopped_) return false;
    ++parts_;
    line.parts.push_back(std::move(part));
    if (line.parts.size() == 1) changed_.notify_all();  // it may be what is waited for
    return true;
  }
  void complete(Part& part, Crew::Outcome outcome) {
    const std::lock_guard lock(mutex_);
    part.outcome = std::move(outcome);
    part.is_done = true;
    if (&part == awaited_) changed_.notify_all();
  }
  // A line has all its parts.
  void finish(Line& line, std::string after) {
    const std::lock_guard lock(mutex_);
    line.after = std::move(after);
    line.is_whole = true;
    changed_.notify_all();
  }
  void fail(Line& line, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    line.error = std::move(error);
    line.is_whole = true;
    changed_.notify_all();
  }
  // The next line; null: there are no more.
  std::shared_ptr<Line> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) return nullptr;
    return lines_.front();
  }
  // The next part of that line, once it is done; null: the line has no more, or has an error.
  std::shared_ptr<Part> pop_part(Line& line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      awaited_ = line.parts.empty() ? nullptr : line.parts.front().get();
      return line.error || (awaited_ != nullptr ? awaited_->is_done : line.is_whole);
    });
    awaited_ = nullptr;
    if (!line.error && !line.parts.empty()) {
      auto part = std::move(line.parts.front());
      line.parts.pop_front();
      --parts_;
      changed_.notify_all();
      return part;
    }
    lines_.pop_front();
    changed_.notify_all();
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Line>> lines_;
  size_t limit_;
  size_t parts_ = 0;               // of all lines
  const Part* awaited_ = nullptr;  // what the one who delivers waits for
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
    require(model->config().kind == model::Kind::translation, "only translation models translate");
    require(model->config().source_vocabulary == tools_.source_vocabulary->size() &&
                model->config().target_vocabulary == tools_.target_vocabulary->size(),
            "{}the model has {} source and {} target symbols, its vocabularies {} and {}",
            tools_.model ? tools_.model->path().string() + ": " : "",
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
      TextToTokens texts = reader(tools_, {.sentences = Sentences::keep});
      for (const auto& term : terminology_->terms()) {
        texts.phrase(term.target, options.terms.string());
      }
    }
  }
}

Translator::Translator(std::span<const std::shared_ptr<const model::Directory>> directories,
                       const TranslatorOptions& options)
    : Translator(loaded(directories, options.precision),
                 TextTools::of(directories, options.text_choice()), options) {}

Translator::Translator(const std::vector<fs::path>& models, const TranslatorOptions& options)
    : Translator(opened(models), options) {}

Translator::~Translator() = default;

TextToTokens Translator::reader(const TextTools& tools, const TextOptions& text,
                                const Terminology* terminology, bool with_pieces) const {
  return {tools,
          {.max_positions = max_positions_,
           .text = text,
           .long_lines = options_.long_lines,
           .terminology = terminology,
           .joints = [this] { return joints(); },
           .with_pieces = with_pieces}};
}

std::shared_ptr<const Joints> Translator::joints() const {
  std::call_once(joints_once_,
                 [&] { joints_ = std::make_shared<Joints>(*tools_.target_vocabulary); });
  return joints_;
}

void Translator::check() const {
  for (const auto& model : models_) model->check();
}

void Translator::pack() const {
  for (const auto& model : models_) model->pack();
}

Request Translator::request_for(const Part& part, const SearchOptions& search,
                                const Terms& terms) const {
  Request request = {.source = part.tokens,
                     .prefix = part.prefix,
                     .phrases = part.phrases,
                     .search = terms.search,
                     .unwanted = terms.unwanted};
  if (search.alternatives && !part.continues) request.search = as_one_group(search);
  if (request.phrases && !search.sampling.is_on) {  // which takes no notice of them
    request.search = as_one_group(search, request.phrases->tokens());
  }
  if (!part.marks.empty()) {
    auto own = request.search ? *request.search : search;
    own.with_attention = true;
    request.search = std::make_shared<const SearchOptions>(own);
  }
  if (shortlist_) request.symbols = shortlist_->symbols(request.source, request.prefix);
  return request;
}

bool Translator::read_line(TextToTokens& texts, const std::shared_ptr<Line>& line,
                           const Stream& stream, uint64_t caller,
                           const std::shared_ptr<Conveyor>& conveyor) {
  const SearchOptions& search = stream.terms.search ? *stream.terms.search : options_.search;
  while (const auto part = texts.next()) {
    if (!conveyor->add(*line, part)) return false;
    const auto done = [part, conveyor](Crew::Outcome outcome) {
      conveyor->complete(*part, std::move(outcome));
    };
    try {
      Request request = request_for(*part, search, stream.terms);
      request.caller = caller;
      crew_.submit(std::move(request), done);
    } catch (...) {  // whoever waits for the line hears of it
      done({.hypotheses = {}, .error = std::current_exception()});
    }
  }
  conveyor->finish(*line, texts.rest());
  return true;
}

void Translator::read(const Stream& stream, const std::shared_ptr<Conveyor>& conveyor) {
  std::shared_ptr<Line> line;
  try {
    const uint64_t caller = ++callers_;
    const TextTools& tools = stream.terms.tools ? *stream.terms.tools : tools_;
    const auto& terminology = stream.terms.terminology ? stream.terms.terminology : terminology_;
    const SearchOptions& search = stream.terms.search ? *stream.terms.search : options_.search;
    TextToTokens texts =
        reader(tools, stream.terms.text.value_or(options_.text),
               search.sampling.is_on ? nullptr : terminology.get(), search.replace_unk);
    texts.set_unwanted(stream.terms.unwanted);
    for (uint64_t number = 1;; ++number) {
      line = nullptr;
      std::optional<SourceLine> given = stream.next();
      if (!given) break;
      auto begun = texts.begin(std::move(*given), number);
      if (!conveyor->push(begun)) break;
      line = std::move(begun);
      if (!read_line(texts, line, stream, caller, conveyor)) break;
    }
  } catch (...) {
    if (!line) {
      line = std::make_shared<Line>();
      conveyor->push(line);
    }
    conveyor->fail(*line, std::current_exception());
  }
  conveyor->end();
}

void Translator::deliver(const Stream& stream, Conveyor& conveyor) {
  TokensToText writer(stream.terms.tools ? *stream.terms.tools : tools_,
                      stream.terms.search ? *stream.terms.search : options_.search);
  while (const auto line = conveyor.pop()) {
    while (const auto part = conveyor.pop_part(*line)) {
      if (part->outcome.error) std::rethrow_exception(part->outcome.error);
      writer.add(*line, *part);
      if (stream.progress) stream.progress({writer.added(), part->source_end, part->ends_line});
    }
    if (line->error) std::rethrow_exception(line->error);
    Translation translation = writer.take(*line);
    check();
    stream.deliver(std::move(translation));
  }
}

void Translator::translate(const Stream& stream) {
  // Far enough ahead that every thread finds a full batch waiting when its own ends.
  const int64_t ahead = 4 * crew_.batch_sentences() * crew_.threads();
  const auto conveyor = std::make_shared<Conveyor>(static_cast<size_t>(ahead));
  std::thread reader([&] { read(stream, conveyor); });
  try {
    deliver(stream, *conveyor);
  } catch (...) {
    conveyor->stop();
    stream.stop();
    reader.join();
    check();  // damage explains other errors
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
  std::mutex mutex;
  std::pair<int64_t, std::exception_ptr> fault = {groups, nullptr};  // the first group that fails
  parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      for (int64_t group = thread; group < groups; group += threads) {
        const int64_t at = group * kPairs;
        const auto size = static_cast<size_t>(std::min(kPairs, count - at));
        try {
          score_group(sources.subspan(at, size), targets.subspan(at, size), first + at,
                      std::span(scored).subspan(at, size));
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (group < fault.first) fault = {group, std::current_exception()};
          break;
        }
      }
    }
  });
  check();
  if (fault.second) std::rethrow_exception(fault.second);
  return scored;
}

void Translator::score_group(std::span<const std::string> sources,
                             std::span<const std::string> targets, uint64_t first,
                             std::span<ScoredLine> scored) const {
  TextToTokens texts = reader(tools_, {.sentences = Sentences::keep});
  std::vector<Engine> engines;
  for (const auto& model : models_) engines.emplace_back(model);
  std::vector<Pair> pairs;
  size_t tokens = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const auto* text : {&sources[i], &targets[i]}) check_words(*text, "pair", first + i);
    pairs.push_back({texts.source(sources[i]), texts.target(targets[i])});
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
