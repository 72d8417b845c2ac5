#include "decode/language/generator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/instruction_set.h"

namespace residual::decode {
namespace {

std::string_view behind(std::string_view text, std::string_view beginning) {
  const auto [end, rest] = std::ranges::mismatch(beginning, text);
  return text.substr(static_cast<size_t>(rest - text.begin()));
}

// The part of a text that further pieces do not change: without its last word, to which they may
// be joined.
std::string_view settled(std::string_view text) {
  const size_t end = text.find_last_of(' ');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

int64_t positions_of(std::span<const std::shared_ptr<const Weights>> models) {
  int64_t least = models[0]->config().max_positions;
  for (const auto& model : models) least = std::min(least, model->config().max_positions);
  return least;
}

}  // namespace

SearchOptions GeneratorOptions::text_search() {
  SearchOptions search;
  search.beam = 1;
  search.max_length_factor = 0;
  search.max_length_offset = 100;
  return search;
}

// A prompt on its way. Its methods run in one thread at a time.
class Generator::Job {
 public:
  Job(const TextSide& side, Prompt prompt, Done done)
      : codec_(side),
        prompt_(std::move(prompt)),
        done_(std::move(done)),
        ids_(codec_.ids(prompt_.text, "prompt", prompt_.number)),
        before_(codec_.text(ids_)),
        prompt_tokens_(ids_.size()) {}

  const Prompt& prompt() const { return prompt_; }
  std::span<const int32_t> ids() const { return ids_; }

  void add(int32_t token) {
    ids_.push_back(token);
    tell(settled(continued(ids_)));
  }

  void finish(Crew::Outcome outcome, size_t limit) {
    Result result;
    if (!outcome.error) {
      try {
        result = result_of(outcome.hypotheses, limit);
      } catch (...) {
        outcome.error = std::current_exception();
      }
    }
    done_(std::move(result), outcome.error);
  }

 private:
  std::string continued(std::span<const int32_t> ids) {
    return std::string(behind(codec_.text(ids), before_));
  }
  void tell(std::string_view text) {
    if (!prompt_.progress || text.size() <= told_.size() || !text.starts_with(told_)) return;
    prompt_.progress(text.substr(told_.size()));
    told_ = text;
  }

  Result result_of(std::vector<Hypothesis>& hypotheses, size_t limit) {
    Result result = {.prompt_tokens = static_cast<int64_t>(prompt_tokens_), .continuations = {}};
    for (auto& h : hypotheses) {
      Continuation& made = result.continuations.emplace_back();
      h.tokens.pop_back();  // </s>
      ids_.resize(prompt_tokens_);
      ids_.insert(ids_.end(), h.tokens.begin(), h.tokens.end());
      made.text = continued(ids_);
      made.is_cut = h.tokens.size() == limit;
      made.tokens = std::move(h.tokens);
      made.log_probabilities = std::move(h.log_probabilities);
      made.score = h.score;
    }
    if (result.continuations.size() == 1) tell(result.continuations[0].text);
    return result;
  }

  TextCodec codec_;
  Prompt prompt_;
  Done done_;
  std::vector<int32_t> ids_;  // of the prompt, then of what follows
  std::string before_;        // the text of the prompt's ids
  size_t prompt_tokens_;
  std::string told_;
};

std::vector<std::shared_ptr<const Weights>> load_text_models(const std::vector<fs::path>& paths,
                                                             Precision precision,
                                                             model::Kind kind) {
  require(!paths.empty(), "no model is given");
  kernels::instruction_set();  // refuses a wrong RESIDUAL_CPU before any thread meets it
  std::vector<std::shared_ptr<const Weights>> models;
  std::string symbols;
  for (const auto& path : paths) {
    const auto directory =
        std::make_shared<model::Directory>(model::Directory::open(path, model::Check::later));
    models.push_back(load_weights(directory, precision, kind));
    const std::string own = TextSide::of(*directory, "", true).vocabulary->format();
    require(symbols.empty() || symbols == own,
            "{} and {} have different vocabularies; only models with one can decide together",
            paths[0].string(), path.string());
    symbols = own;
  }
  return models;
}

Generator::Generator(const std::vector<fs::path>& models, const GeneratorOptions& options)
    : Generator(load_text_models(models, options.precision, model::Kind::language),
                TextSide::of(model::Directory::open(models[0], model::Check::never),
                             options.language, options.pieces),
                options) {
  const fs::path path = models[0].lexically_normal();
  name_ = (path.has_filename() ? path : path.parent_path()).filename().string();
}

Generator::Generator(std::vector<std::shared_ptr<const Weights>> models, TextSide side,
                     const GeneratorOptions& options)
    : options_(options),
      models_(std::move(models)),
      max_positions_(positions_of(models_)),
      side_(std::move(side)),
      crew_(models_, options_.search, options_.crew) {
  require(!options.search.needs_attention() && !options.search.alternatives,
          "attention and alternatives are for translations");
}

void Generator::check() const {
  for (const auto& model : models_) model->check();
}

std::future<Generator::Result> Generator::submit(Prompt prompt) {
  const auto promise = std::make_shared<std::promise<Result>>();
  submit(std::move(prompt), [promise](Result result, const std::exception_ptr& error) {
    if (error) {
      promise->set_exception(error);
    } else {
      promise->set_value(std::move(result));
    }
  });
  return promise->get_future();
}

void Generator::submit(Prompt prompt, Done done) {
  const auto job = std::make_shared<Job>(side_, std::move(prompt), std::move(done));
  const auto length = static_cast<int64_t>(job->ids().size());
  require(length + 2 <= max_positions_,
          "prompt {}: has {} tokens, the model continues texts of up to {}", job->prompt().number,
          length, max_positions_ - 2);
  const SearchOptions& search = job->prompt().search ? *job->prompt().search : options_.search;
  const auto room = static_cast<double>(max_positions_ - 1 - length);
  const auto limit = static_cast<size_t>(std::min(search.max_length_offset, room));
  Request request = {.caller = job->prompt().caller,
                     .source = {},
                     .prefix = {job->ids().begin(), job->ids().end()},
                     .search = job->prompt().search,
                     .unwanted = job->prompt().unwanted};
  if (job->prompt().progress) request.progress = [job](int32_t token) { job->add(token); };
  crew_.submit(std::move(request), [this, job, limit](Crew::Outcome outcome) {
    try {
      check();  // damage explains other errors
    } catch (...) {
      outcome.error = std::current_exception();
    }
    job->finish(std::move(outcome), limit);
  });
}

}  // namespace residual::decode
