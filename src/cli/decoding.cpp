#include "cli/decoding.h"

#include <map>
#include <span>
#include <tuple>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "model/parameters.h"
#include "run/average.h"

namespace residual::cli {
namespace {

// Search options need no rule here, unless a flag is not called like its key.
const FlagRules& translator_flags() {
  static const FlagRules rules = {
      .group = "Search",
      .exceptions = {{.key = "precision", .group = "Model"},
                     {.key = "source", .flag = "--from", .group = "Model", .type = "LANG"},
                     {.key = "target", .flag = "--to", .group = "Model", .type = "LANG"},
                     {.key = "pieces", .group = "Model"},
                     {.key = "sentences", .group = "Lines"},
                     {.key = "markup", .group = "Lines"},
                     {.key = "long_lines", .group = "Lines"},
                     {.key = "n_best", .group = "Output"},
                     {.key = "with_attention", .flag = "--alignments", .group = "Output"},
                     {.key = "attention_layer", .flag = "--alignment-layer", .group = "Output"},
                     {.key = "sampling.is_on", .flag = "--sample"},
                     {.key = "sampling.", .group = "Sampling"},
                     {.key = "shortlist", .group = "Shortlist"},
                     {.key = "shortlist_frequent", .group = "Shortlist"},
                     {.key = "shortlist_best", .group = "Shortlist"},
                     {.key = "batch_tokens", .group = "Batches"},
                     {.key = "batch_sentences", .group = "Batches"}}};
  return rules;
}

std::string flag_of(const std::string& key) { return translator_flags().flag_of(key); }

}  // namespace

Flags add_translator_flags(CLI::App& command, decode::TranslatorOptions& options,
                           const std::vector<std::string>& groups) {
  return add_flags(
      command, [&](ConfigVisitor& visit) { fields(visit, options); }, translator_flags(), groups);
}

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
  add_translator_flags(command, o.translator, {group});
}

void add_search_options(CLI::App& command, decode::TranslatorOptions& o) {
  Flags flags = add_translator_flags(command, o, {"Search", "Shortlist", "Sampling", "Batches"});
  const auto set_longest = [&o](int64_t length) { limit_length(o.search, length); };
  CLI::Option* const longest =
      command.add_option_function<int64_t>("--max-length", set_longest, decode::kMaxLength);
  longest->check(in_range({.min = 1}, true))->type_name("N")->group("Search");
  flags["max_length_factor"]->excludes(longest);
  flags["max_length_offset"]->excludes(longest);
  flags["sampling.seed"]->check(not_negative());
  flags["diverse_strength"]->needs(flags["diverse_groups"]);
  flags["alternatives"]->excludes(flags["diverse_groups"]);
  for (const char* key : {"shortlist_frequent", "shortlist_best"}) {
    flags[key]->needs(flags["shortlist"]);
  }
  for (const auto& [key, option] : flags) {
    if (key.starts_with("sampling.") && key != "sampling.is_on") {
      option->needs(flags["sampling.is_on"]);
    }
  }
}

void check_search(const ModelOptions& o) {
  const decode::SearchOptions& search = o.translator.search;
  check_typed([&] { decode::check(search, flag_of); });
  if (!o.translator.terms.empty() && search.sampling.is_on) {
    throw CLI::ValidationError("--terms cannot be combined with --sample");
  }
  if (o.translator.shortlist.file.empty()) return;
  check_typed([&] { decode::check_shortlist(search, o.average ? 1 : o.models.size(), flag_of); });
}

model::Kind kind_of(const ModelOptions& o) {
  if (o.average) return model::Kind::translation;
  return model::Directory::open(o.models.at(0), model::Check::never).description().model.kind;
}

std::unique_ptr<decode::Generator> load_generator(const ModelOptions& o) {
  return std::make_unique<decode::Generator>(
      o.models, decode::GeneratorOptions{.precision = o.translator.precision,
                                         .language = o.translator.target,
                                         .pieces = o.translator.pieces,
                                         .crew = o.translator.crew});
}

namespace {

std::unique_ptr<decode::Translator> make_translator(const ModelOptions& o) {
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
      decode::TextTools::of(directories, o.translator.text_choice()), o.translator);
}

void warn_of_zero_shot(const decode::Translator& translator) {
  const auto& [source, target] = std::tie(translator.options().source, translator.options().target);
  const auto& model = translator.tools().model;
  if (!model || model->description().directions.empty() || source.empty() || target.empty()) return;
  if (model->lists(source, target)) return;
  log::warn("{}: was not trained on {}-{}; this is a zero-shot direction", model->path().string(),
            source, target);
}

}  // namespace

std::unique_ptr<decode::Translator> load_translator(const ModelOptions& o) {
  auto translator = make_translator(o);
  warn_of_zero_shot(*translator);
  return translator;
}

}  // namespace residual::cli
