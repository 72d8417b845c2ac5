#include "cli/decoding.h"

#include <map>
#include <span>

#include "base/error.h"
#include "cli/command.h"
#include "model/parameters.h"
#include "run/average.h"

namespace residual::cli {
namespace {

using decode::Precision;
using decode::Stop;

void add_beam_options(CLI::App& command, decode::SearchOptions& o) {
  const std::string group = "Search";
  const auto add = [&](const char* flag, auto& value, const char* what, const char* type = "N") {
    return command.add_option(flag, value, what)
        ->capture_default_str()
        ->type_name(type)
        ->group(group);
  };
  add("--beam", o.beam, "hypotheses kept per sentence, up to 62; 1: greedy")->check(positive());
  add("--length-penalty", o.length_penalty,
      "scores are divided by length to this power; 0: sums. fairseq's lenpen, Marian's normalize",
      "X");
  add("--word-penalty", o.word_penalty, "subtracted for each token before that, as in Marian", "X");
  add("--min-length", o.min_length, "tokens before </s>, at least")->check(not_negative());
  const auto set_longest = [&o](int64_t length) {
    o.max_length_factor = 0;
    o.max_length_offset = static_cast<double>(length);
  };
  CLI::Option* const longest = command.add_option_function<int64_t>(
      "--max-length", set_longest, "tokens before </s>, at most, however long the source is");
  longest->check(positive())->type_name("N")->group(group);
  add("--max-length-factor", o.max_length_factor,
      "otherwise at most this times the source's tokens ...", "X")
      ->excludes(longest)
      ->check(not_negative());
  add("--max-length-offset", o.max_length_offset, "... and so many more")
      ->excludes(longest)
      ->check(not_negative());
  CLI::Option* const groups =
      add("--diverse-groups", o.diverse_groups,
          "groups that the beam is divided into; what one chooses, later ones avoid. For n-best "
          "lists that differ");
  groups->check(positive());
  add("--diverse-strength", o.diverse_strength,
      "what a token costs each time that a group before has chosen it in the same step", "X")
      ->needs(groups)
      ->check(not_negative());
  command
      .add_flag("--alternatives", o.alternatives,
                "n-best translations that go on differently after the prefix, each the best with "
                "its share of the beam")
      ->excludes(groups)
      ->group(group);
  add("--no-repeat-ngram", o.no_repeat_ngram, "no N tokens in a row come twice; 0: they may")
      ->check(not_negative());
  add("--repetition-penalty", o.repetition_penalty,
      "divides the logits of tokens that are there already; negative ones are multiplied", "X")
      ->check(positive());
  add("--coverage-penalty", o.coverage_penalty,
      "adds to a score this times the sum of the logarithms of the attention that the source's "
      "tokens got, up to 1 each",
      "X")
      ->check(not_negative());
  add("--unk-penalty", o.unk_penalty, "subtracted from the log-probability of <unk>", "X");
  command.add_flag("--forbid-unk", o.forbid_unk, "never give <unk>")->group(group);
  command
      .add_flag("--replace-unk", o.replace_unk,
                "give the source's piece that <unk> attends to most instead of it")
      ->group(group);
  add_choice<Stop>(command, "--stop", o.stop,
                   {{"full", Stop::full}, {"bound", Stop::bound}, {"first", Stop::first}},
                   "when a search ends: full, as many hypotheses as the beam is wide have ended; "
                   "bound, none that lives can come among the n-best; first, n-best have ended")
      ->group(group);
}

void add_shortlist_options(CLI::App& command, decode::ShortlistOptions& o) {
  const std::string group = "Shortlist";
  CLI::Option* const file =
      command
          .add_option("--shortlist", o.file,
                      "translations consist of frequent symbols and likely translations of the "
                      "source's: lines \"target source probability\", as residual shortlist or "
                      "Marian's tools make them")
          ->type_name("FILE")
          ->group(group);
  const auto add = [&](const char* flag, int64_t& value, const char* what) {
    command.add_option(flag, value, what)
        ->needs(file)
        ->check(not_negative())
        ->capture_default_str()
        ->type_name("N")
        ->group(group);
  };
  add("--shortlist-frequent", o.frequent, "so many of the vocabulary's first symbols");
  add("--shortlist-best", o.best, "at most so many translations of each source symbol");
}

void add_sampling_options(CLI::App& command, decode::Sampling& o) {
  const std::string group = "Sampling";
  CLI::Option* sample =
      command.add_flag("--sample", o.is_on, "draw tokens at random; --beam independent draws")
          ->group(group);
  const auto add = [&](const char* flag, auto& value, const char* what, const char* type) {
    return command.add_option(flag, value, what)
        ->needs(sample)
        ->capture_default_str()
        ->type_name(type)
        ->group(group);
  };
  add("--top-k", o.top_k, "only from the K likeliest tokens; 0: all", "K")->check(not_negative());
  add("--top-p", o.top_p, "only from the fewest tokens whose probabilities sum to P", "P");
  add("--temperature", o.temperature, "divides logits before drawing", "X")->check(positive());
  add("--seed", o.seed, "of the random numbers; a line's draws depend on it and the line alone",
      "N")
      ->check(not_negative());
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& o) {
  const std::string group = "Model";
  command
      .add_option("-m,--model", o.models,
                  "model directory, run or bundle; repeat it for an ensemble")
      ->required()
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("PATH")
      ->group(group);
  command
      .add_flag("--average", o.average,
                "average the parameters of the models instead of using an ensemble; also takes "
                "checkpoints; a run stands for all its checkpoints")
      ->group(group);
  add_choice<Precision>(
      command, "--precision", o.translator.precision,
      {{"fp32", Precision::float32}, {"fp16", Precision::float16}, {"int8", Precision::int8}},
      "precision of the weight matrices: fp32, fp16 or int8; at most the precision of the exported "
      "model")
      ->group(group);
  command.add_option("--from", o.translator.source, "source language, if the model has several")
      ->type_name("LANG")
      ->group(group);
  command.add_option("--to", o.translator.target, "target language, if the model has several")
      ->type_name("LANG")
      ->group(group);
  command
      .add_flag("--pieces", o.translator.pieces,
                "input and output are segmented: pieces separated by spaces")
      ->group(group);
}

void add_search_options(CLI::App& command, decode::TranslatorOptions& o) {
  add_beam_options(command, o.search);
  command
      .add_option("--terms", o.terms,
                  "terminology, lines \"source<tab>target\": if a line contains the source term, "
                  "its translation contains the target term")
      ->type_name("FILE")
      ->group("Search");
  add_shortlist_options(command, o.shortlist);
  add_sampling_options(command, o.search.sampling);
  const std::string group = "Batches";
  command
      .add_option("--batch-tokens", o.crew.batch_tokens,
                  "maximum number of source tokens in a thread's batch")
      ->check(positive())
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--batch-sentences", o.crew.batch_sentences,
                  "maximum number of sentences in a thread's batch; 0: chosen from the beam")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void check_search(const ModelOptions& o) {
  const decode::SearchOptions& search = o.translator.search;
  check_typed([&] { decode::check(search); });
  if (!o.translator.terms.empty() && search.sampling.is_on) {
    throw CLI::ValidationError("--terms cannot be combined with --sample");
  }
  if (o.translator.shortlist.file.empty()) return;
  check_typed([&] { decode::check_shortlist(search, o.average ? 1 : o.models.size()); });
}

std::unique_ptr<decode::Translator> load_translator(const ModelOptions& o) {
  if (!o.average) return std::make_unique<decode::Translator>(o.models, o.translator);
  const run::Mean mean = run::mean_of(o.models, {});
  const model::Config& config = mean.description.model;
  const auto list = model::parameters(config);
  std::map<std::string, std::span<const float>> values;
  for (size_t i = 0; i < list.size(); ++i) values[list[i].name] = mean.values[i];
  const std::vector<std::shared_ptr<const model::Directory>> directories = {
      std::make_shared<model::Directory>(model::Directory::open(mean.text_from))};
  return std::make_unique<decode::Translator>(
      std::vector{decode::copy_weights(config, values, o.translator.precision)},
      decode::TextTools::of(directories, o.translator), o.translator);
}

}  // namespace residual::cli
