#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decode/crew.h"
#include "decode/language/text_side.h"
#include "decode/options.h"
#include "decode/weights.h"

namespace residual::decode {

struct GeneratorOptions {
  Precision precision = Precision::float32;
  std::string language;  // empty if the model leaves no choice
  bool pieces = false;   // prompts are pieces between spaces, and so are continuations
  SearchOptions search = text_search();
  CrewOptions crew;

  static SearchOptions text_search();  // greedy, of up to 100 tokens
};

inline void fields(ConfigVisitor& visit, GeneratorOptions& o) {
  visit.choice("precision", o.precision,
               "precision of the matrices; never more than a model was exported with");
  visit("language", o.language, "language of the text, if the model has several");
  visit("pieces", o.pieces, "texts are already segmented: pieces separated by spaces");
  fields(visit, o.search);
}

// The meaning of max_length_offset for texts.
inline constexpr const char* kMaxTokens = "maximum tokens that follow a prompt, without </s>";

// What a model writes after a prompt.
struct Continuation {
  std::string text;                      // follows the prompt's own text directly
  std::vector<int32_t> tokens;           // without </s>
  std::vector<float> log_probabilities;  // of the tokens, then of </s>
  double score = 0;
  bool is_cut = false;  // the limit has ended it, not the model
};

// Continues texts by a language model. A continuation depends on its prompt and search alone. Many
// threads may use one object: their prompts then share batches.
class Generator {
 public:
  // Directories of one model, or of several that decide together.
  Generator(const std::vector<fs::path>& models, const GeneratorOptions& options);
  Generator(std::vector<std::shared_ptr<const Weights>> models, TextSide side,
            const GeneratorOptions& options);

  struct Prompt {
    std::string text;
    std::shared_ptr<const SearchOptions> search = nullptr;  // null: the generator's
    // Hears of text that will not change any more, in order, from another thread; without it, all
    // comes at the end. A beam or several draws say nothing before.
    std::function<void(std::string_view)> progress = {};
    std::shared_ptr<const std::atomic<bool>> unwanted = nullptr;  // once true, it fails soon
    uint64_t number = 1;                                          // names it in errors
    uint64_t caller = 0;                                          // as Request::caller
  };
  struct Result {
    int64_t prompt_tokens = 0;
    std::vector<Continuation> continuations;  // best first, or the draws; at least one
  };
  // Hears of the result, or else of the error, from another thread.
  using Done = std::function<void(Result result, std::exception_ptr error)>;
  // Throws an Error if the prompt leaves no room for a token.
  void submit(Prompt prompt, Done done);
  std::future<Result> submit(Prompt prompt);

  const model::Config& config() const { return models_[0]->config(); }
  const GeneratorOptions& options() const { return options_; }
  const TextSide& side() const { return side_; }
  const std::string& name() const { return name_; }  // of the model, for the user
  uint64_t new_caller() { return ++callers_; }
  // Throws an Error if a model's file is damaged.
  void check() const;

 private:
  class Job;

  GeneratorOptions options_;
  std::vector<std::shared_ptr<const Weights>> models_;
  int64_t max_positions_;
  TextSide side_;
  std::string name_ = "model";
  std::atomic<uint64_t> callers_ = 0;
  Crew crew_;  // the last member: it ends first
};

// Opens models of one kind that share their symbols.
std::vector<std::shared_ptr<const Weights>> load_text_models(const std::vector<fs::path>& models,
                                                             Precision precision, model::Kind kind);

}  // namespace residual::decode
