#include "probe/subject.h"

#include <span>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "schemes/listing.h"
#include "schemes/registry.h"
#include "train/artifact.h"
#include "train/checkpoint.h"
#include "train/corpora.h"
#include "train/run_directory.h"
#include "train/start.h"

namespace residual::probe {
namespace {

constexpr int64_t kRandomSymbols = 10'000;  // of a model that no corpus gives a vocabulary

// Appendix G.2, table 9.
train::TrainConfig iwslt_sized() {
  train::TrainConfig config;
  config.model.width = 256;
  config.model.inner = 1024;
  config.model.heads = 4;
  return config;
}

schemes::Options parse_scheme(const std::string& text) {
  const size_t colon = text.find(':');
  schemes::Options options{.name = text.substr(0, colon)};
  if (colon != std::string::npos) options.variant = text.substr(colon + 1);
  return schemes::resolve<schemes::Listing>(options);
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
  const auto checkpoint = train::read_checkpoint(path, parameters.config());
  std::span<const float> rest = checkpoint.model_values();
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    const auto size = static_cast<size_t>(parameters.list()[i].size());
    copy_values(parameters, i, rest.first(size));
    rest = rest.subspan(size);
  }
}

train::TrainConfig read_run(const fs::path& directory) {
  const fs::path file = directory / train::kRunConfig;
  require(fs::exists(file), "{}: the run that this belongs to has no {}", directory.string(),
          train::kRunConfig);
  train::TrainConfig config;
  read_config(file, config);
  return config;
}

std::string stem_of(fs::path path) {
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.extension() == ".toml" ? path.stem() : path.filename();
}

Subject model_subject(const fs::path& path) {
  const auto directory = model::Directory::open(path);
  Subject subject{.label = stem_of(path), .origin = "as stored"};
  subject.config.model = directory.description().model;
  subject.text = {directory.path(), directory.description()};
  subject.load = [path](nn::Parameters& parameters) { load_model(path, parameters); };
  return subject;
}

Subject run_subject(const fs::path& path, bool at_initialisation) {
  Subject subject = at_initialisation ? Subject{.label = stem_of(path)} : model_subject(path);
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
  subject.origin = fmt::format("after update {}", train::verify_checkpoint(path).update);
  subject.load = [path](nn::Parameters& parameters) { load_checkpoint(path, parameters); };
  return subject;
}

Subject open_subject(const fs::path& path, bool at_initialisation) {
  if (path.extension() == ".toml") {
    Subject subject{.label = stem_of(path)};
    read_layered_config(path, subject.config);
    return subject;
  }
  switch (train::artifact_at(path)) {
    case train::Artifact::model: {
      Subject subject = model_subject(path);
      if (at_initialisation) subject.load = nullptr;
      return subject;
    }
    case train::Artifact::run:
      return run_subject(path, at_initialisation);
    case train::Artifact::checkpoint:
      require(!at_initialisation, "{}: a checkpoint is not at initialisation; give its run",
              path.string());
      return checkpoint_subject(path);
    default:
      fail("{}: is a {}; give a model directory, a run, a checkpoint or a recipe (.toml)",
           path.string(), train::name_of(train::artifact_at(path)));
  }
}

void change_model(Subject& subject, const ModelOptions& options) {
  train::TrainConfig& config = subject.config;
  if (subject.load) {
    require(options.layers == 0 && options.settings.empty() && options.schemes.empty(),
            "{}: --layers, --set, --scheme and --compare change models at initialisation; this one "
            "is trained. Add --at-initialisation",
            subject.label);
    return;
  }
  apply_settings<train::TrainConfig>(options.settings, config);
  if (options.layers > 0)
    config.model.encoder_layers = config.model.decoder_layers = options.layers;
}

// A corpus of other symbols has other sentences under the ids that a model has learnt.
void require_vocabularies(const Subject& subject, const TextFiles& corpus) {
  for (const auto file :
       {&model::Description::source_vocabulary, &model::Description::target_vocabulary}) {
    const std::string &own = subject.text.description.*file, &other = corpus.description.*file;
    const auto a = text::Vocabulary::load(subject.text.directory / own);
    const auto b = text::Vocabulary::load(corpus.directory / other);
    require(train::have_same_symbols(a, b),
            "{}: its {} is not the {} of {}; probe it on a corpus prepared with its own",
            subject.label, own, other, corpus.directory.string());
  }
}

// The vocabularies' sizes, and where text is segmented.
void find_text(Subject& subject, const ModelOptions& options) {
  train::TrainConfig& config = subject.config;
  if (!options.data.empty()) config.data.prepared = options.data;
  const bool prepared = !config.data.prepared.empty() && fs::exists(config.data.prepared);
  require(prepared || options.data.empty(), "{}: no such directory", options.data.string());
  if (prepared) {
    const train::Corpora corpora(config);
    config = corpora.with_vocabularies(config);
    TextFiles text{corpora.directory(), corpora.description(config)};
    if (subject.text.directory.empty()) {
      subject.text = std::move(text);
    } else if (subject.load) {
      require_vocabularies(subject, text);
    }
    return;
  }
  if (!config.data.prepared.empty()) {
    log::info("{}: {} is not here; the tokens are random", subject.label, config.data.prepared);
  }
  for (int64_t* size : {&config.model.source_vocabulary, &config.model.target_vocabulary}) {
    if (*size == 0) *size = kRandomSymbols;
  }
}

void finish(Subject& subject, const ModelOptions& options) {
  subject.initial = !subject.load;
  if (subject.initial) {
    const auto seed = static_cast<uint64_t>(options.seed.value_or(subject.config.train.seed));
    subject.origin = fmt::format("at initialisation, seed {}", seed);
    subject.load = [seed](nn::Parameters& parameters) { parameters.initialise(seed); };
  }
  model::check(subject.config.model);
  require(options.text.empty() || !subject.text.directory.empty(),
          "{}: nothing says how its text is segmented; give a model, or a prepared corpus with "
          "--data",
          subject.label);
}

void require_unique(const std::vector<Subject>& subjects) {
  for (size_t i = 0; i < subjects.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      require(subjects[i].label != subjects[j].label,
              "two models are called \"{}\"; they could not be told apart in the report",
              subjects[i].label);
    }
  }
}

}  // namespace

std::vector<Subject> open_subjects(const ModelOptions& options) {
  std::vector<Subject> opened;
  for (const auto& path : options.subjects) {
    opened.push_back(open_subject(path, options.at_initialisation));
  }
  if (options.subjects.empty()) opened.push_back({.label = "", .config = iwslt_sized()});

  std::vector<Subject> subjects;
  for (Subject& subject : opened) {
    change_model(subject, options);
    find_text(subject, options);
    if (options.schemes.empty()) {
      if (subject.label.empty()) subject.label = subject.config.model.residual.name;
      subjects.push_back(std::move(subject));
      continue;
    }
    for (const auto& scheme : options.schemes) {
      Subject with_scheme = subject;
      with_scheme.config.model.residual = parse_scheme(scheme);
      with_scheme.label = opened.size() == 1 ? scheme : subject.label + " " + scheme;
      subjects.push_back(std::move(with_scheme));
    }
  }
  for (Subject& subject : subjects) finish(subject, options);
  require_unique(subjects);
  return subjects;
}

}  // namespace residual::probe
