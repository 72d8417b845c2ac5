#include "probe/subject.h"

#include <span>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/prepared.h"
#include "model/parameters.h"
#include "run/artifact.h"
#include "run/checkpoint.h"
#include "run/corpora.h"
#include "run/run_directory.h"
#include "run/start.h"
#include "schemes/registry.h"

namespace residual::probe {
namespace {

constexpr int64_t kRandomSymbols = 10'000;  // vocabulary of a model without a corpus

// Appendix G.2, table 9.
run::TrainConfig iwslt_sized() {
  run::TrainConfig config;
  config.model.width = 256;
  config.model.inner = 1024;
  config.model.heads = 4;
  return config;
}

// "name" or "name:variant"; if it is the configured scheme, with the options that it has there.
schemes::Choice parse_scheme(const std::string& text, const schemes::Choice& configured) {
  const size_t colon = text.find(':');
  schemes::Choice choice{.name = text.substr(0, colon)};
  if (choice.name == configured.name) choice = configured;
  if (colon != std::string::npos) choice.variant = text.substr(colon + 1);
  return schemes::resolve(choice);
}

void copy_values(nn::Parameters& parameters, size_t i, std::span<const float> values) {
  const at::NoGradGuard no_grad;
  Tensor leaf = parameters[i];
  leaf.copy_(at::from_blob(const_cast<float*>(values.data()), leaf.sizes(), at::kFloat));
}

void load_model(const fs::path& path, nn::Parameters& parameters) {
  const auto directory = model::Directory::open(path);
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    copy_values(parameters, i, directory.parameter(parameters.list()[i].name).to_float());
  }
}

void load_checkpoint(const fs::path& path, nn::Parameters& parameters) {
  const auto checkpoint = run::read_checkpoint(path, parameters.config());
  std::span<const float> rest = checkpoint.model_values();
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    const auto size = static_cast<size_t>(parameters.list()[i].size());
    copy_values(parameters, i, rest.first(size));
    rest = rest.subspan(size);
  }
}

run::TrainConfig read_run(const fs::path& directory) {
  const fs::path file = directory / run::kRunConfig;
  require(fs::exists(file), "{}: the run that this belongs to has no {}", directory.string(),
          run::kRunConfig);
  run::TrainConfig config;
  read_config(file, config);
  return config;
}

std::string stem_of(fs::path path) {
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.extension() == ".toml" ? path.stem() : path.filename();
}

// Gradients need floating-point parameters.
void require_floats(const model::Directory& directory) {
  for (const auto& p : model::parameters(directory.description().model)) {
    require(directory.parameter(p.name).dtype != model::Dtype::i8,
            "{}: is int8; probe the model it was made from", directory.path().string());
  }
}

Subject model_subject(const fs::path& path, bool at_initialisation) {
  const auto directory = model::Directory::open(path);
  Subject subject{.label = stem_of(path), .origin = "as stored"};
  subject.config.model = directory.description().model;
  subject.text = {directory.path(), directory.description(), [path](const std::string& file) {
                    return model::Directory::open(path).read(file);
                  }};
  if (at_initialisation) return subject;
  require_floats(directory);
  subject.load = [path](nn::Parameters& parameters) { load_model(path, parameters); };
  return subject;
}

Subject run_subject(const fs::path& path, bool at_initialisation) {
  Subject subject = at_initialisation ? Subject{.label = stem_of(path)}
                                      : model_subject(path, /*at_initialisation=*/false);
  subject.config = read_run(path);
  if (!at_initialisation) {
    subject.origin = fmt::format("after update {}", subject.text.description.update);
  }
  return subject;
}

Subject checkpoint_subject(const fs::path& path) {
  const fs::path run = fs::absolute(path).parent_path().parent_path();
  Subject subject{.label = stem_of(run) + ":" + path.stem().string()};
  subject.config = read_run(run);
  subject.origin = fmt::format("after update {}", run::verify_checkpoint(path).update);
  subject.load = [path](nn::Parameters& parameters) { load_checkpoint(path, parameters); };
  return subject;
}

Subject open_subject(const fs::path& path, bool at_initialisation) {
  if (path.extension() == ".toml") {
    Subject subject{.label = stem_of(path)};
    read_layered_config(path, subject.config);
    return subject;
  }
  switch (run::artifact_at(path)) {
    case run::Artifact::model:
    case run::Artifact::bundle:
      return model_subject(path, at_initialisation);
    case run::Artifact::run:
      return run_subject(path, at_initialisation);
    case run::Artifact::checkpoint:
      require(!at_initialisation, "{}: a checkpoint is not at initialisation; give its run",
              path.string());
      return checkpoint_subject(path);
    default:
      fail("{}: is a {}; give a model, a run, a checkpoint or a recipe (.toml)", path.string(),
           run::name_of(run::artifact_at(path)));
  }
}

void require_changeable(const Subject& subject, const SubjectOptions& options) {
  require(
      !subject.load || (options.layers == 0 && options.settings.empty() && options.schemes.empty()),
      "{}: --layers, --set, --scheme and --compare change models at initialisation; this one "
      "is trained. Add --at-initialisation",
      subject.label);
}

// `scheme`: one of those asked for; empty: the configured one.
void change_model(Subject& subject, const SubjectOptions& options, const std::string& scheme) {
  run::TrainConfig& config = subject.config;
  schemes::Choice& residual = config.model.residual;
  if (!scheme.empty()) residual = parse_scheme(scheme, residual);
  const schemes::Choice chosen = residual;
  apply_settings<run::TrainConfig>(options.settings, config);
  require(scheme.empty() || (residual.name == chosen.name && residual.variant == chosen.variant),
          "--set model.residual.name, model.residual.variant: --compare and --scheme say them "
          "already, as NAME or NAME:VARIANT");
  if (options.layers > 0)
    config.model.encoder_layers = config.model.decoder_layers = options.layers;
}

// Takes the initial values from another model.
void start(Subject& subject) {
  run::TrainConfig& config = subject.config;
  const std::string from = config.train.start_from;
  if (subject.load || from.empty()) return;
  constexpr const char* remedy = "--set train.start_from= draws random initial values instead";
  require(fs::exists(from), "{}: starts from {}, which does not exist; {}", subject.label, from,
          remedy);
  Subject model = model_subject(from, /*at_initialisation=*/false);
  run::TrainConfig there = config;
  there.model = model.config.model;
  there.model.max_positions = config.model.max_positions;  // no parameter's shape depends on it
  for (const auto& d : run::differences(run::resolve(there), config)) {
    fail("{}: starts from {}: {} is {} there, {} here; {}", subject.label, from, d.key, d.before,
         d.now, remedy);
  }
  config.model = there.model;
  subject.origin = fmt::format("at initialisation, from {}", from);
  subject.load = std::move(model.load);
  subject.text = std::move(model.text);
}

// With another vocabulary, the ids would stand for other symbols than the model has learnt.
void require_vocabularies(const Subject& subject, const TextFiles& corpus) {
  for (const auto file :
       {&model::Description::source_vocabulary, &model::Description::target_vocabulary}) {
    const std::string &own = subject.text.description.*file, &other = corpus.description.*file;
    require(run::have_same_symbols(subject.text.vocabulary(own), corpus.vocabulary(other)),
            "{}: its {} is not the {} of {}; probe it on a corpus prepared with the model's own",
            subject.label, own, other, corpus.place.string());
  }
}

// Sets the vocabularies' sizes and the source of the text processing.
void find_text(Subject& subject, const SubjectOptions& options) {
  run::TrainConfig& config = subject.config;
  if (!options.data.empty()) config.data.prepared = options.data;
  const bool prepared = !config.data.prepared.empty() && fs::exists(config.data.prepared);
  require(prepared || options.data.empty(), "{}: no such directory", options.data.string());
  if (prepared) {
    const run::Corpora corpora(config);
    config = corpora.with_vocabularies(config);
    const fs::path place = corpora.directory();
    TextFiles text{place, corpora.description(config),
                   [place, manifest = data::load_manifest(place)](const std::string& file) {
                     return data::read_listed(manifest, place, file);
                   }};
    if (subject.text.place.empty()) {
      subject.text = std::move(text);
    } else if (subject.load) {
      require_vocabularies(subject, text);
    }
    return;
  }
  if (!config.data.prepared.empty()) {
    log::info("{}: {} does not exist; the tokens are random", subject.label, config.data.prepared);
  }
  for (int64_t* size : {&config.model.source_vocabulary, &config.model.target_vocabulary}) {
    if (*size == 0) *size = kRandomSymbols;
  }
}

void finish(Subject& subject, const SubjectOptions& options) {
  subject.initial = !subject.load;
  if (subject.initial) {
    const auto seed = static_cast<uint64_t>(options.seed.value_or(subject.config.train.seed));
    subject.origin = fmt::format("at initialisation, seed {}", seed);
    subject.load = [seed](nn::Parameters& parameters) { parameters.initialise(seed); };
  }
  model::check(subject.config.model);
  require(options.text.empty() || !subject.text.place.empty(),
          "{}: has no segmentation for raw text; give a model, or a prepared corpus with "
          "--data",
          subject.label);
}

void require_unique(const std::vector<Subject>& subjects) {
  for (size_t i = 0; i < subjects.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      require(subjects[i].label != subjects[j].label,
              "two models are called \"{}\"; the report could not distinguish them",
              subjects[i].label);
    }
  }
}

}  // namespace

text::Vocabulary TextFiles::vocabulary(const std::string& file) const {
  return text::Vocabulary::parse(read(file), (place / file).string());
}

std::vector<Subject> open_subjects(const SubjectOptions& options) {
  std::vector<Subject> opened;
  for (const auto& path : options.subjects) {
    opened.push_back(open_subject(path, options.at_initialisation));
  }
  if (options.subjects.empty()) opened.push_back({.label = "", .config = iwslt_sized()});

  std::vector<Subject> subjects;
  for (const Subject& subject : opened) {
    require_changeable(subject, options);
    if (options.schemes.empty()) {
      subjects.push_back(subject);
      change_model(subjects.back(), options, "");
      auto& label = subjects.back().label;
      if (label.empty()) label = subjects.back().config.model.residual.name;
    }
    for (const auto& scheme : options.schemes) {
      subjects.push_back(subject);
      change_model(subjects.back(), options, scheme);
      subjects.back().label = opened.size() == 1 ? scheme : subject.label + " " + scheme;
    }
  }
  for (Subject& subject : subjects) {
    start(subject);
    find_text(subject, options);
    finish(subject, options);
  }
  require_unique(subjects);
  return subjects;
}

}  // namespace residual::probe
