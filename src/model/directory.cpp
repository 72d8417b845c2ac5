#include "model/directory.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/version.h"
#include "model/parameters.h"

namespace residual::model {
namespace {

constexpr int64_t kFormat = 1;

std::string segmentation_file(const std::string& language) {
  return "segmentation." + language + ".toml";
}

// run/best or run/last for a run directory, the path itself otherwise.
fs::path resolve_run(const fs::path& path) {
  if (fs::exists(path / kWeightsFile)) return path;
  for (const char* inside : {"best", "last"}) {
    if (fs::exists(path / inside / kWeightsFile)) return path / inside;
  }
  require(fs::exists(path), "{}: no such directory", path.string());
  fail(
      "{}: not a model directory (it has no {}), nor a run directory with a model in best/ or "
      "last/",
      path.string(), kWeightsFile);
}

// Scales that int8 weights come with: one per row.
bool is_scale_of_known(const std::string& name, const std::set<std::string>& known) {
  constexpr std::string_view suffix = ".scale";
  return name.ends_with(suffix) && known.contains(name.substr(0, name.size() - suffix.size()));
}

}  // namespace

void fields(ConfigVisitor& visit, Direction& d) {
  visit("source", d.source, "language translated from");
  visit("target", d.target, "language translated to");
  visit("source_tag", d.source_tag, "symbol put before each source sentence, if any");
}

void fields(ConfigVisitor& visit, Description& d) {
  visit("format", d.format, "version of this layout");
  visit("residual", d.residual, "version that wrote it");
  visit("commit", d.commit, "of that version");
  visit("origin", d.origin, "how the weights came about");
  visit("update", d.update, "of training, after which they were taken");
  visit("source_vocabulary", d.source_vocabulary, "file of the source side's symbols");
  visit("target_vocabulary", d.target_vocabulary, "file of the target side's symbols");
  visit.tables("directions", d.directions, "what the model translates");
  visit.table("model", d.model, "architecture");
}

std::vector<std::string> text_files(const Description& d, const fs::path& directory) {
  std::set<std::string> files = {d.source_vocabulary, d.target_vocabulary};
  for (const auto& direction : d.directions) {
    for (const auto& language : {direction.source, direction.target}) {
      const std::string settings = segmentation_file(language);
      if (!fs::exists(directory / settings)) continue;
      files.insert(settings);
      const auto segmenter = text::Segmenter::load(directory, language);
      if (!segmenter.options().model.empty()) files.insert(segmenter.options().model);
    }
  }
  return {files.begin(), files.end()};
}

std::vector<std::string> weight_problems(const SafeTensors& weights, const Config& config) {
  std::vector<std::string> problems;
  const auto add = [&](const std::string& problem) {
    problems.push_back(weights.name() + ": " + problem);
  };
  const std::string& scheme = config.residual.name;
  std::set<std::string> known;
  for (const auto& p : parameters(config)) {
    known.insert(p.name);
    if (!weights.contains(p.name)) {
      add(fmt::format("has no tensor {}, which a {} model of this size needs", p.name, scheme));
    } else if (const auto& found = weights.at(p.name); found.shape != p.shape) {
      add(fmt::format("{} has shape [{}], config.toml makes it [{}]", p.name,
                      fmt::join(found.shape, ", "), fmt::join(p.shape, ", ")));
    }
  }
  for (const auto& [name, view] : weights.tensors()) {
    if (known.contains(name) || is_scale_of_known(name, known)) continue;
    add(fmt::format("has a tensor {}, which a {} model has not", name, scheme));
  }
  return problems;
}

void check_weights(const SafeTensors& weights, const Config& config) {
  const auto problems = weight_problems(weights, config);
  if (!problems.empty()) throw Error(problems.front());
}

Directory Directory::open(const fs::path& given) {
  const fs::path path = resolve_run(given);
  Description description;
  read_config(path / kConfigFile, description);
  require(description.format == kFormat,
          "{}: is of format {}, this version reads format {}; it was written by ResiDual {}",
          (path / kConfigFile).string(), description.format, kFormat, description.residual);
  try {
    check(description.model);
  } catch (const Error& error) {
    fail("{}: {}", (path / kConfigFile).string(), error.what());
  }
  SafeTensors weights = SafeTensors::open(path / kWeightsFile);
  check_weights(weights, description.model);
  return {path, std::move(description), std::move(weights)};
}

text::Vocabulary Directory::source_vocabulary() const {
  return text::Vocabulary::load(path_ / description_.source_vocabulary);
}

text::Vocabulary Directory::target_vocabulary() const {
  return text::Vocabulary::load(path_ / description_.target_vocabulary);
}

const Direction& Directory::direction(const std::string& source, const std::string& target) const {
  const Direction* found = nullptr;
  std::vector<std::string> all;
  for (const auto& d : description_.directions) {
    all.push_back(d.source + "-" + d.target);
    const bool fits =
        (source.empty() || d.source == source) && (target.empty() || d.target == target);
    if (!fits) continue;
    require(found == nullptr, "{}: translates {}; say which is wanted", path_.string(),
            fmt::join(all, ", "));
    found = &d;
  }
  require(found != nullptr, "{}: does not translate {} to {}; it translates {}", path_.string(),
          source.empty() ? "any language" : source, target.empty() ? "any language" : target,
          all.empty() ? "nothing: config.toml has no [[directions]]"
                      : fmt::format("{}", fmt::join(all, ", ")));
  return *found;
}

text::Segmenter Directory::segmenter(const std::string& language) const {
  return text::Segmenter::load(path_, language);
}

void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const fs::path& text_from,
                     FileSystem& system) {
  const auto copy = [&](const fs::path& to) {
    for (const auto& file : text_files(description, text_from)) {
      replace_file(to / file, read_file(text_from / file), system);
    }
  };
  write_directory(path, description, weights, copy, system);
}

void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights,
                     const std::function<void(const fs::path&)>& add_text, FileSystem& system) {
  AtomicDirectory directory(path, /*replace=*/true, kWeightsFile, system);
  add_text(directory.path());
  Description written = description;
  written.format = kFormat;
  written.residual = version();
  written.commit = commit();
  replace_file(directory.path() / kConfigFile, to_toml(written), system);
  write_safetensors(directory.path() / kWeightsFile, weights, {{"format", "residual"}}, system);
  directory.commit();
}

}  // namespace residual::model
