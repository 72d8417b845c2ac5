#include "run/verify.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/checksum.h"
#include "base/error.h"
#include "base/process.h"
#include "base/progress.h"
#include "data/corpus.h"
#include "data/prepared.h"
#include "model/directory.h"
#include "model/screen.h"
#include "run/artifact.h"
#include "run/checkpoint.h"
#include "run/run_directory.h"

namespace residual::run {
namespace {

class Verifier {
 public:
  // With `accepts`, checksums of models are written anew instead of compared.
  explicit Verifier(bool accepts) : accepts_(accepts) {}

  void artifact(const fs::path& path) {
    switch (artifact_at(path)) {
      case Artifact::model:
        return model(path);
      case Artifact::bundle:
        return part(path, [&] { return bundle(path); });
      case Artifact::run:
        return run(path);
      case Artifact::prepared:
        return prepared(path);
      case Artifact::checkpoint:
        return part(path, [&] { return checkpoint(path, nullptr); });
      case Artifact::corpus:
        return part(path, [&] { return corpus(path); });
      case Artifact::tensors:
        return part(path, [&] { return tensors(path); });
      case Artifact::fairseq:
        return fairseq(path);
      case Artifact::listed:
        return listed(path, [] {});
    }
  }

  Verification take() { return std::move(result_); }

 private:
  // `check` returns a summary of a sound part; it throws or records a problem otherwise. A file
  // that the current checksums list must match them, too.
  template <class Check>
  void part(const fs::path& path, const Check& check) {
    const size_t before = result_.problems.size();
    seen_.insert(path.filename());
    try {
      const std::string found = check();
      if (result_.problems.size() > before) return;
      if (sums_ && path.filename() != model::kChecksumsFile) {
        const MappedFile file(path);
        sums_->check(path.filename(), file.bytes());
      }
      result_.checked.push_back(path.string() + ": " + found);
    } catch (const Error& error) {
      problem(error.what());
    }
  }
  void problem(std::string text) { result_.problems.push_back(std::move(text)); }

  // Checks the files of a directory against its checksums: those that check_files() has a part for,
  // and then the others.
  template <class Check>
  void listed(const fs::path& directory, const Check& check_files) {
    const fs::path file = directory / model::kChecksumsFile;
    if (accepts_) return write_sums(directory, check_files);
    if (fs::exists(file)) {
      part(file, [&] {
        sums_ = model::Checksums::load(directory);
        return fmt::format("lists {} files", sums_->entries().size());
      });
    } else {
      result_.unchecked.push_back(
          fmt::format("{}: does not exist, so a change that leaves the files readable is not "
                      "noticed; `residual "
                      "verify --accept {}` writes it",
                      file.string(), shell_word(directory.string())));
    }
    seen_.clear();
    check_files();
    if (!sums_) return;
    for (const auto& [name, entry] : sums_->entries()) {
      if (seen_.contains(name)) continue;
      part(directory / name,
           [bytes = entry.bytes] { return fmt::format("{} bytes", format_count(bytes)); });
    }
    sums_.reset();
  }

  template <class Check>
  void write_sums(const fs::path& directory, const Check& check_files) {
    const size_t before = result_.problems.size();
    check_files();
    if (result_.problems.size() > before) return;
    part(directory / model::kChecksumsFile, [&] {
      model::write_checksums(directory);
      return fmt::format("written, lists {} files",
                         model::Checksums::load(directory)->entries().size());
    });
  }

  void finite(const model::SafeTensors& file) {
    using model::Dtype;
    for (const auto& [name, tensor] : file.tensors()) {
      const Dtype type = tensor.dtype;
      const bool floating =
          type == Dtype::f16 || type == Dtype::bf16 || type == Dtype::f32 || type == Dtype::f64;
      if (!floating) continue;
      const std::vector<float> values = tensor.to_float();
      const auto bad = std::ranges::count_if(values, [](float v) { return !std::isfinite(v); });
      if (bad == 0) continue;
      problem(fmt::format("{}: {} has {} values that are not finite", file.name(), name,
                          format_count(static_cast<uint64_t>(bad))));
    }
  }

  // REQUIRES: the file has no other problem.
  void screen(const model::SafeTensors& file, const model::Config& config) {
    const std::string difference = model::screen_difference(file, config);
    if (!difference.empty()) problem(file.name() + ": " + difference);
  }

  std::string tensors(const fs::path& path) {
    const auto file = model::SafeTensors::open(path);
    finite(file);
    return fmt::format("{} tensors, all finite", file.tensors().size());
  }

  void fairseq(const fs::path& path) {
    listed(path, [&] { fairseq_files(path); });
  }

  void fairseq_files(const fs::path& path) {
    const fs::path weights = path / model::kWeightsFile;
    part(weights, [&] { return tensors(weights) + ", under fairseq's names"; });
    for (const auto& entry : fs::directory_iterator(path)) {
      const fs::path& file = entry.path();
      const std::string name = file.filename().string();
      if (!name.starts_with("dict.") || !name.ends_with(".txt")) continue;
      part(file, [&] { return fmt::format("{} symbols", text::Vocabulary::load(file).size()); });
    }
  }

  std::string checkpoint(const fs::path& path, const model::Config* config) {
    const State state =
        config != nullptr ? read_checkpoint(path, *config).state : verify_checkpoint(path);
    finite(model::SafeTensors::open(path));
    return fmt::format("checkpoint of update {}, checksum correct", state.update);
  }

  std::string corpus(const fs::path& path) {
    const auto corpus = data::Corpus::open(path);
    corpus.verify();
    return fmt::format("{} pairs, checksums correct",
                       format_count(static_cast<uint64_t>(corpus.size())));
  }

  static std::string vocabulary(const fs::path& path, int64_t symbols,
                                const model::Description& description) {
    const auto vocabulary = text::Vocabulary::load(path);
    require(vocabulary.size() == symbols, "{}: has {} symbols, the model has {}", path.string(),
            vocabulary.size(), symbols);
    if (path.filename() == description.source_vocabulary) tags(description, vocabulary, path);
    return fmt::format("{} symbols", symbols);
  }

  static void tags(const model::Description& description, const text::Vocabulary& source,
                   const fs::path& path) {
    for (const auto& d : description.directions) {
      require(d.source_tag.empty() || source.id(d.source_tag) != text::Vocabulary::kUnk,
              "{}: has no {}, the tag that precedes each sentence to be translated to {}",
              path.string(), d.source_tag, d.target);
    }
  }

  void model(const fs::path& path) {
    listed(path, [&] { model_files(path); });
  }

  void model_files(const fs::path& path) {
    model::Description description;
    bool readable = false;
    part(path / model::kConfigFile, [&] {
      const fs::path file = path / model::kConfigFile;
      description = model::parse_description(read_file(file), file.string());
      readable = true;
      return description.model.residual.name + " model";
    });
    part(path / model::kWeightsFile, [&] {
      const auto weights = model::SafeTensors::open(path / model::kWeightsFile);
      if (readable) {
        auto problems = weight_problems(weights, description.model);
        if (problems.empty()) screen(weights, description.model);
        for (auto& each : problems) problem(std::move(each));
      }
      finite(weights);
      return fmt::format("{} tensors, {}", weights.tensors().size(),
                         readable ? "as the configuration requires" : "all finite");
    });
    if (!readable) return;
    const model::Config& c = description.model;
    if (c.has_encoder()) {
      const fs::path file = path / description.source_vocabulary;
      part(file, [&] { return vocabulary(file, c.source_vocabulary, description); });
    }
    const bool same = description.source_vocabulary == description.target_vocabulary;
    if (c.has_decoder() && !(same && c.has_encoder())) {
      const fs::path file = path / description.target_vocabulary;
      part(file, [&] { return vocabulary(file, c.target_vocabulary, description); });
    }
    std::set<std::string> languages;
    for (const auto& d : description.directions) languages.insert({d.source, d.target});
    for (const auto& language : languages) {
      part(path / ("segmentation." + language + ".toml"), [&] {
        return "sub-words: " + text::Segmenter::load(path, language).options().subwords;
      });
    }
  }

  std::string bundle(const fs::path& path) {
    const auto model = model::Directory::open(path);
    if (!model.has_checksums()) {
      result_.unchecked.push_back(path.string() +
                                  ": has no checksum, so a change that leaves it readable is not "
                                  "noticed; export the model again");
    }
    const model::Config& c = model.description().model;
    finite(model.weights());
    screen(model.weights(), c);
    if (c.has_encoder()) tags(model.description(), model.source_vocabulary(), path);
    const int64_t source = model.source_vocabulary().size();
    const int64_t target = model.target_vocabulary().size();
    require((!c.has_encoder() || source == c.source_vocabulary) &&
                (!c.has_decoder() || target == c.target_vocabulary),
            "{}: its vocabularies have {} and {} symbols, the model {} and {}", path.string(),
            source, target, c.source_vocabulary, c.target_vocabulary);
    for (const auto& d : model.description().directions) {
      model.segmenter(d.source);
      model.segmenter(d.target);
    }
    return fmt::format("{} model, {} tensors{}", c.residual.name, model.weights().tensors().size(),
                       model.has_checksums() ? ", checksum correct" : "");
  }

  void prepared(const fs::path& path) {
    data::Manifest manifest;
    part(path / "prepared.toml", [&] {
      manifest = data::load_manifest(path);
      return fmt::format("lists {} files", manifest.files.size());
    });
    if (seal_of(read_file(path / "prepared.toml")) == Seal::missing) {
      result_.unchecked.push_back((path / "prepared.toml").string() +
                                  ": has no checksum, so a change that leaves it readable is not "
                                  "noticed; prepare the directory again");
    }
    for (const auto& file : manifest.files) {
      part(path / file.file, [&] {
        data::Manifest one;
        one.files = {file};
        data::verify(one, path);
        return fmt::format("{} bytes, checksum correct",
                           format_count(static_cast<uint64_t>(file.bytes)));
      });
    }
    for (const auto& each : manifest.vocabularies) {
      part(path / each.file, [&] {
        data::check_symbols(each, path);
        return fmt::format("{} symbols", each.symbols);
      });
    }
    for (const auto& each : manifest.corpora) {
      part(path / each.file, [&] {
        data::check_ids(each, manifest, path);
        return corpus(path / each.file);
      });
    }
  }

  void run(const fs::path& path) {
    TrainConfig config;
    bool readable = false;
    part(path / kRunConfig, [&] {
      read_config(path / kRunConfig, config);
      check(config);
      readable = true;
      return config.model.residual.name + " run";
    });
    const auto checkpoints = CheckpointStore(path / kCheckpoints, config.model).list();
    for (const auto& [update, file] : checkpoints) {
      part(file, [&, &at = file] { return checkpoint(at, readable ? &config.model : nullptr); });
    }
    for (const char* name : {"best", "last"}) {
      if (fs::exists(path / name)) model(path / name);
    }
    for (const char* name : {"metrics.jsonl", "speed.jsonl"}) {
      if (fs::exists(path / name)) part(path / name, [&] { return json_lines(path / name); });
    }
  }

  // The last line may be incomplete: a killed run leaves it so, and truncates it when it resumes.
  std::string json_lines(const fs::path& path) {
    const std::string text = read_file(path);
    int64_t number = 0;
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      ++number;
      if (nlohmann::json::accept(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                 text.begin() + static_cast<std::ptrdiff_t>(end))) {
        continue;
      }
      problem(fmt::format("{}: line {} is not JSON", path.string(), number));
    }
    return fmt::format("{} lines", number);
  }

  bool accepts_;
  std::optional<model::Checksums> sums_;  // of the directory that is being checked
  std::set<std::string> seen_;            // its files that have had a part
  Verification result_;
};

}  // namespace

Verification verify(const fs::path& path) {
  Verifier verifier(/*accepts=*/false);
  verifier.artifact(path);
  return verifier.take();
}

Verification accept(const fs::path& path) {
  const Artifact kind = artifact_at(path);
  require(kind == Artifact::model || kind == Artifact::run || kind == Artifact::fairseq,
          "{}: is a {}; only the checksums of model directories can be written anew", path.string(),
          name_of(kind));
  Verifier verifier(/*accepts=*/true);
  verifier.artifact(path);
  return verifier.take();
}

}  // namespace residual::run
