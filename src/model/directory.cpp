#include "model/directory.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/checksum.h"
#include "base/error.h"
#include "base/version.h"
#include "kernels/matrix.h"
#include "model/parameters.h"
#include "model/screen.h"
#include "text/unicode.h"

namespace residual::model {
namespace {

constexpr int64_t kFormat = 1;
// Bundles of format 1 have no checksum and are otherwise the same.
constexpr const char* kBundleFormat = "residual bundle 2";

std::string segmentation_file(const std::string& language) {
  return "segmentation." + language + ".toml";
}

// run/best or run/last for a run directory, the path itself otherwise.
fs::path resolve_run(const fs::path& path) {
  if (fs::exists(path / kWeightsFile)) return path;
  for (const char* inside : {"best", "last"}) {
    if (fs::exists(path / inside / kWeightsFile)) return path / inside;
  }
  require(fs::exists(path), "{}: no such directory or file", path.string());
  fail(
      "{}: not a model directory (it has no {}) or a run directory with a model in best/ or "
      "last/",
      path.string(), kWeightsFile);
}

// Scales that int8 weights come with: one per row.
bool is_scale_of_known(const std::string& name, const std::set<std::string>& known) {
  const std::string_view suffix = kScale;
  return name.ends_with(suffix) && known.contains(name.substr(0, name.size() - suffix.size()));
}

std::vector<int64_t> panel_shape(const std::vector<int64_t>& matrix) {
  return {(matrix[0] + kernels::kPanel - 1) / kernels::kPanel, matrix[1], kernels::kPanel};
}

// Returns the problem of panels that replace a matrix.
std::string panel_problem(const TensorView& found, const std::vector<int64_t>& matrix) {
  const std::vector<int64_t> expected = panel_shape(matrix);
  const bool is_floating = found.dtype == Dtype::f32 || found.dtype == Dtype::f16;
  return is_floating && found.shape == expected
             ? ""
             : fmt::format("{} is {} [{}], expected F32 or F16 [{}]", found.name,
                           name_of(found.dtype), fmt::join(found.shape, ", "),
                           fmt::join(expected, ", "));
}

// Of the scales of `name`, whose whole numbers are in `tensor`.
std::string scale_problem(const SafeTensors& weights, const std::string& name,
                          const TensorView& tensor, int64_t rows) {
  const std::string scale = name + kScale;
  if (!weights.contains(scale)) {
    return fmt::format("{} is {} but has no {}", tensor.name, name_of(tensor.dtype), scale);
  }
  const TensorView& found = weights.at(scale);
  const bool right = found.dtype == Dtype::f32 && found.shape == std::vector{rows};
  return right ? ""
               : fmt::format("{} is {} [{}], expected F32 [{}]: one for each row", scale,
                             name_of(found.dtype), fmt::join(found.shape, ", "), rows);
}

// Of the panels beside the rows of the output embedding.
std::string screen_problem(const SafeTensors& weights, const Parameter& p) {
  const TensorView& found = weights.at(p.name + kPanels);
  const std::vector<int64_t> expected = panel_shape(p.shape);
  if (found.dtype != Dtype::i16 || found.shape != expected) {
    return fmt::format("{} is {} [{}], expected I16 [{}] beside {}", found.name,
                       name_of(found.dtype), fmt::join(found.shape, ", "),
                       fmt::join(expected, ", "), p.name);
  }
  const Dtype rows = weights.at(p.name).dtype;
  if (rows != Dtype::f32) {
    return fmt::format("{} is {}, expected F32 beside {}", p.name, name_of(rows), found.name);
  }
  return scale_problem(weights, p.name, found, p.shape[0]);
}

// Returns the problem in how a parameter's numbers are stored: floating point, or int8 for
// matrices.
std::string storage_problem(const SafeTensors& weights, const TensorView& tensor) {
  const Dtype type = tensor.dtype;
  const bool floating =
      type == Dtype::f32 || type == Dtype::f16 || type == Dtype::bf16 || type == Dtype::f64;
  if (floating) return "";
  if (type != Dtype::i8 || tensor.shape.size() != 2) {
    return fmt::format("{} is {}, expected floating-point numbers", tensor.name, name_of(type));
  }
  return scale_problem(weights, tensor.name, tensor, tensor.shape[0]);
}

bool is_file_of_bundle(const TensorView& tensor) {
  return tensor.name.starts_with(kBundledFile) && tensor.dtype == Dtype::u8 &&
         tensor.shape.size() == 1;
}

std::vector<std::string> list_text_files(
    const Description& d, const std::function<bool(const std::string&)>& exists,
    const std::function<text::Segmenter(const std::string&)>& segmenter_of) {
  std::set<std::string> files = {d.source_vocabulary, d.target_vocabulary};
  for (const auto& direction : d.directions) {
    for (const auto& language : {direction.source, direction.target}) {
      const std::string settings = segmentation_file(language);
      if (!exists(settings)) continue;
      files.insert(settings);
      const auto segmenter = segmenter_of(language);
      if (!segmenter.options().model.empty()) files.insert(segmenter.options().model);
    }
  }
  return {files.begin(), files.end()};
}

// What a directory's config.toml says when a model is written now.
std::string config_text(const Description& description) {
  Description written = description;
  written.format = kFormat;
  written.residual = version();
  written.commit = commit();
  written.origin = text::replace_invalid_utf8(written.origin);  // it may have a file's name
  return to_toml(written);
}

}  // namespace

void check_language(const std::string& language) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '@';
  };
  require(!language.empty() && std::ranges::all_of(language, fits),
          "language \"{}\": expected letters, digits, -, _ and @, like de or zh_TW", language);
}

void fields(ConfigVisitor& visit, Direction& d) {
  visit("source", d.source, "language translated from");
  visit("target", d.target, "language translated to");
  visit("source_tag", d.source_tag, "symbol put before each source sentence, if any");
}

void fields(ConfigVisitor& visit, Description& d) {
  visit("format", d.format, "version of the directory's layout");
  visit("residual", d.residual, "version of ResiDual that wrote the model");
  visit("commit", d.commit, "source commit of that version");
  visit("origin", d.origin, "origin of the weights");
  visit("update", d.update, "training update after which the weights were saved");
  visit("source_vocabulary", d.source_vocabulary, "file of the source side's symbols");
  visit("target_vocabulary", d.target_vocabulary, "file of the target side's symbols");
  visit.tables("directions", d.directions, "translation directions of the model");
  visit.table("model", d.model, "architecture");
}

namespace {

// A model may come from an untrusted source: the files that it names must be beside it. Otherwise
// copying the model could write, and opening it could read, any file.
void check_names(const Description& d) {
  for (const auto& file : {d.source_vocabulary, d.target_vocabulary}) {
    require(is_file_name(file),
            "source_vocabulary, target_vocabulary: expected the name of a file in the same "
            "directory, got \"{}\"",
            file);
  }
  for (const auto& direction : d.directions) {
    check_language(direction.source);
    check_language(direction.target);
  }
}

}  // namespace

Description parse_description(const std::string& text, const std::string& name) {
  Description d;
  read_toml(text, name, [&](ConfigVisitor& visit) { fields(visit, d); });
  require(d.format == kFormat,
          "{}: has format {}, this version reads format {}; it was written by ResiDual {}", name,
          d.format, kFormat, d.residual);
  try {
    check_names(d);
    check(d.model);
  } catch (const Error& error) {
    fail("{}: {}", name, error.what());
  }
  return d;
}

std::vector<std::string> text_files(const Description& d, const fs::path& directory) {
  return list_text_files(
      d, [&](const std::string& file) { return fs::exists(directory / file); },
      [&](const std::string& language) { return text::Segmenter::load(directory, language); });
}

std::vector<std::string> weight_problems(const SafeTensors& weights, const Config& config) {
  std::vector<std::string> problems;
  const auto add = [&](const std::string& problem) {
    problems.push_back(weights.name() + ": " + problem);
  };
  const std::string& scheme = config.residual.name;
  std::set<std::string> known;
  for (const auto& p : parameters(config)) {
    const std::string panels = p.name + kPanels;
    if (is_multiplied(p, config) && weights.contains(panels) && !weights.contains(p.name)) {
      known.insert(panels);
      const auto problem = panel_problem(weights.at(panels), p.shape);
      if (!problem.empty()) add(problem);
      continue;
    }
    known.insert(p.name);
    if (!weights.contains(p.name)) {
      add(fmt::format("has no tensor {}, which a {} model of this size needs", p.name, scheme));
    } else if (const auto& found = weights.at(p.name); found.shape != p.shape) {
      add(fmt::format("{} has shape [{}], config.toml requires [{}]", p.name,
                      fmt::join(found.shape, ", "), fmt::join(p.shape, ", ")));
    } else if (const auto problem = storage_problem(weights, found); !problem.empty()) {
      add(problem);
    } else if (p.name == output_embedding(config) && weights.contains(panels)) {
      known.insert(panels);
      if (const auto wrong = screen_problem(weights, p); !wrong.empty()) add(wrong);
    }
  }
  for (const auto& [name, view] : weights.tensors()) {
    if (known.contains(name) || is_scale_of_known(name, known)) continue;
    if (is_file_of_bundle(view)) continue;
    add(fmt::format("has a tensor {}, which a {} model does not have", name, scheme));
  }
  return problems;
}

void check_weights(const SafeTensors& weights, const Config& config) {
  const auto problems = weight_problems(weights, config);
  if (!problems.empty()) throw Error(problems.front());
}

Directory::Directory(fs::path path, bool is_bundle, Check when)
    : path_(std::move(path)),
      is_bundle_(is_bundle),
      checksums_(is_bundle ? std::nullopt : Checksums::load(path_)),
      weights_(open_weights()) {
  begin_check(when);
  try {
    read_description();
    check_weights(weights_, description_.model);
  } catch (const Error&) {
    check();  // damage is the better explanation
    throw;
  }
  if (when == Check::now) check();
}

Directory Directory::open(const fs::path& given, Check check) {
  const bool is_bundle = fs::is_regular_file(given);
  return {is_bundle ? given : resolve_run(given), is_bundle, check};
}

SafeTensors Directory::open_weights() const {
  const fs::path file = is_bundle_ ? path_ : path_ / kWeightsFile;
  try {
    return SafeTensors::open(file);
  } catch (const Error&) {
    if (checksums_) check_listed(file);
    throw;
  }
}

void Directory::begin_check(Check when) {
  BlockCheck::Options options;
  if (is_bundle_) {
    options.zeros = file_checksum_digits(weights_);
    expected_ = from_hex(options.zeros);
    const auto format = weights_.metadata().find("format");
    const bool must_have = format != weights_.metadata().end() && format->second == kBundleFormat;
    require(expected_ || (options.zeros.empty() && !must_have),
            "{}: is damaged: its header has no valid {}; copy it or export it again",
            path_.string(), kFileChecksum);
  } else if (checksums_) {
    const auto& entry = checksums_->at(kWeightsFile);
    expected_ = entry.checksum;
    if (entry.bytes != weights_.bytes().size()) checksums_->fail_changed(kWeightsFile);
  }
  if (when == Check::never) expected_.reset();
  if (!expected_) return;
  // Translation reads single rows of an embedding that has a screen, so that it need not be in
  // memory.
  for (const auto& [name, tensor] : weights_.tensors()) {
    const bool has_screen = weights_.contains(name + kPanels);
    if (has_screen) options.released = tensor.bytes;
  }
  check_ = std::make_unique<BlockCheck>(weights_.bytes(), options);
  check_->start();
}

void Directory::check() const {
  if (!expected_ || check_->value() == *expected_) return;
  if (checksums_) checksums_->fail_changed(kWeightsFile);
  fail("{}: is damaged: it does not match the checksum in its header; copy it or export it again",
       path_.string());
}

bool Directory::has_checksums() const {
  return is_bundle_ ? !file_checksum_digits(weights_).empty() : checksums_.has_value();
}

void Directory::read_description() {
  const std::string name = (path_ / kConfigFile).string();
  require(!is_bundle_ || contains(kConfigFile),
          "{}: is not a model in one file (it has no tensor {}{}); `residual export --to bundle` "
          "makes one, `residual average CHECKPOINT -o DIR` makes a model from a checkpoint",
          path_.string(), kBundledFile, kConfigFile);
  require(contains(kConfigFile),
          "{}: has no {}, so it is not a ResiDual model; `residual import-fairseq` makes one from "
          "weights with fairseq's names",
          path_.string(), kConfigFile);
  description_ = parse_description(read(kConfigFile), name);
}

const TensorView& Directory::parameter(const std::string& name) const {
  require(weights_.contains(name) || !weights_.contains(name + kPanels),
          "{}: is packed for translation; use the model it was made from", path_.string());
  return weights_.at(name);
}

bool Directory::contains(const std::string& file) const {
  if (is_bundle_) return weights_.contains(kBundledFile + file);
  // A listed file that is missing shall not be taken for one that the model never had.
  return (checksums_ && checksums_->contains(file)) || fs::exists(path_ / file);
}

std::string Directory::read(const std::string& file) const {
  if (!is_bundle_) {
    std::string content = read_file(path_ / file);
    if (checksums_) checksums_->check(file, content);
    return content;
  }
  const TensorView& tensor = weights_.at(kBundledFile + file);
  require(is_file_of_bundle(tensor), "{}: {} is not a one-dimensional byte tensor (U8)",
          path_.string(), tensor.name);
  return std::string(tensor.bytes);
}

std::vector<std::string> Directory::text_files() const {
  return list_text_files(
      description_, [&](const std::string& file) { return contains(file); },
      [&](const std::string& language) { return segmenter(language); });
}

text::Vocabulary Directory::source_vocabulary() const {
  const std::string& file = description_.source_vocabulary;
  return text::Vocabulary::parse(read(file), (path_ / file).string());
}

text::Vocabulary Directory::target_vocabulary() const {
  const std::string& file = description_.target_vocabulary;
  return text::Vocabulary::parse(read(file), (path_ / file).string());
}

bool Directory::lists(const std::string& source, const std::string& target) const {
  return std::ranges::any_of(description_.directions, [&](const Direction& d) {
    return d.source == source && d.target == target;
  });
}

Direction Directory::direction(const std::string& source, const std::string& target) const {
  std::vector<Direction> fitting, from, to;
  std::vector<std::string> all, names;
  for (const auto& d : description_.directions) {
    all.push_back(d.source + "-" + d.target);
    if (d.source == source) from.push_back(d);
    if (d.target == target) to.push_back(d);
    const bool fits =
        (source.empty() || d.source == source) && (target.empty() || d.target == target);
    if (!fits) continue;
    fitting.push_back(d);
    names.push_back(all.back());
  }
  require(fitting.size() < 2, "{}: translates {}; choose one (from, to)", path_.string(),
          fmt::join(names, ", "));
  if (!fitting.empty()) return fitting[0];
  const bool has_one_tag =
      !to.empty() && !to[0].source_tag.empty() &&
      std::ranges::all_of(to, [&](const Direction& d) { return d.source_tag == to[0].source_tag; });
  if (!from.empty() && has_one_tag && source != target) return {source, target, to[0].source_tag};
  fail("{}: does not translate {} to {}; it translates {}", path_.string(),
       source.empty() ? "any language" : source, target.empty() ? "any language" : target,
       all.empty() ? "nothing: config.toml has no [[directions]]"
                   : fmt::format("{}", fmt::join(all, ", ")));
}

text::Segmenter Directory::segmenter(const std::string& language) const {
  return text::Segmenter::load([this](const std::string& file) { return read(file); },
                               path_.string(), language);
}

void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const fs::path& text_from,
                     FileSystem& system) {
  const auto copy = [&](const fs::path& to) {
    for (const auto& file : text_files(description, text_from)) {
      replace_file(to / file, read_listed(text_from / file), system);
    }
  };
  write_directory(path, description, weights, copy, system);
}

void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights,
                     const std::function<void(const fs::path&)>& add_text, FileSystem& system) {
  AtomicDirectory directory(path, /*replace=*/true, kWeightsFile, system);
  add_text(directory.path());
  replace_file(directory.path() / kConfigFile, config_text(description), system);
  kernels::PackedMatrix screen;
  write_safetensors(directory.path() / kWeightsFile,
                    with_screen(weights, description.model, screen), {{"format", "residual"}},
                    system);
  write_checksums(directory.path(), system);
  directory.commit();
}

void write_directory(const fs::path& path, const Description& description,
                     const std::vector<TensorBytes>& weights, const Directory& model) {
  write_directory(path, description, weights, [&](const fs::path& to) {
    for (const auto& file : model.text_files()) replace_file(to / file, model.read(file));
  });
}

void write_bundle(const fs::path& path, const Description& description,
                  std::vector<TensorBytes> weights, const Directory& model) {
  std::map<std::string, std::string> files = {{kConfigFile, config_text(description)}};
  for (const auto& file : model.text_files()) files[file] = model.read(file);
  for (const auto& [name, content] : files) {
    weights.push_back(
        {kBundledFile + name, Dtype::u8, {static_cast<int64_t>(content.size())}, content});
  }
  kernels::PackedMatrix screen;
  write_safetensors(path, with_screen(std::move(weights), description.model, screen),
                    {{"format", kBundleFormat}, {kFileChecksum, ""}});
}

}  // namespace residual::model
