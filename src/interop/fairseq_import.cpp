#include "interop/fairseq_import.h"

#include <set>

#include "base/error.h"
#include "interop/marian_model.h"
#include "model/parameters.h"

namespace residual::interop {
namespace {

// The dictionary, which must have a symbol for every row of the embedding.
text::Vocabulary load_dictionary(const fs::path& path, int64_t rows) {
  auto vocabulary = text::Vocabulary::parse(model::read_listed(path), path.string());
  require(vocabulary.size() == rows,
          "{}: has {} symbols with <s>, <pad>, </s> and <unk>, the embedding has {} rows; this is "
          "not the dictionary the model was trained with",
          path.string(), vocabulary.size(), rows);
  return vocabulary;
}

struct Directions {
  std::vector<model::Direction> list;
};

void fields(ConfigVisitor& visit, Directions& d) {
  visit.tables("directions", d.list, "translation directions of the model");
}

// Those of the file, or the one that is asked for.
std::vector<model::Direction> directions_of(const model::SafeTensors& file,
                                            const FairseqImport& options) {
  const auto text = file.metadata().find(kDirections);
  if (text == file.metadata().end()) {
    return {{options.source_language, options.target_language, ""}};
  }
  Directions found;
  const std::string name = file.name() + ", metadata " + kDirections;
  read_toml(text->second, name, [&](ConfigVisitor& visit) { fields(visit, found); });
  std::vector<std::string> names;
  bool has_given = false;
  for (const auto& d : found.list) {
    model::check_language(d.source);
    model::check_language(d.target);
    names.push_back(d.source + "-" + d.target);
    has_given |= d.source == options.source_language && d.target == options.target_language;
  }
  require(has_given, "{}: translates {}, not {} to {}", file.name(), fmt::join(names, ", "),
          options.source_language, options.target_language);
  return found.list;
}

}  // namespace

std::string format_directions(std::vector<model::Direction> directions) {
  return to_toml(Directions{std::move(directions)});
}

model::Description import_fairseq(const FairseqImport& options, const fs::path& output) {
  for (const auto& language : {options.source_language, options.target_language}) {
    model::check_language(language);
  }
  model::check_listed(options.weights);
  const model::SafeTensors file = model::SafeTensors::open(options.weights);
  FairseqOptions architecture = options.architecture;
  if (architecture.prefix.empty()) architecture.prefix = fairseq_prefix(file);
  const model::Config config = fairseq_config(file, architecture);
  require_in_range(config, file.name() + ", as our configuration");
  const auto source = load_dictionary(options.source_dictionary, config.source_vocabulary);
  const auto target = load_dictionary(options.target_dictionary, config.target_vocabulary);
  const bool joined = source.format() == target.format();
  require(joined || config.sharing != model::Sharing::all,
          "{} and {} differ, but source and target share their embedding; give the joined "
          "dictionary for both",
          options.source_dictionary.string(), options.target_dictionary.string());

  model::Description description{
      .origin = fmt::format("imported from {} (fairseq)", options.weights.filename().string()),
      .directions = directions_of(file, options),
      .model = config};
  if (!joined) {
    const bool same = options.source_language == options.target_language;
    const auto name = [&](const char* side, const std::string& language) {
      return fmt::format("vocabulary.{}.txt", same ? side : language);
    };
    description.source_vocabulary = name("source", options.source_language);
    description.target_vocabulary = name("target", options.target_language);
  }
  const auto add_text = [&](const fs::path& directory) {
    source.save(directory / description.source_vocabulary);
    if (!joined) target.save(directory / description.target_vocabulary);
    text::SegmenterOptions segmentation = options.segmentation;
    segmentation.model = options.subword_model.filename().string();
    if (options.subword_model.empty()) segmentation.subwords = "none";
    const std::string subwords =
        options.subword_model.empty() ? "" : model::read_listed(options.subword_model);
    std::set<std::string> languages;
    for (const auto& d : description.directions) languages.insert({d.source, d.target});
    for (const auto& language : languages) {
      segmentation.language = language;
      text::Segmenter(segmentation, subwords).save(directory, language);
    }
  };

  const auto values = fairseq_values(file, config, architecture.prefix);
  const auto list = model::parameters(config);
  std::vector<model::TensorBytes> tensors;
  for (size_t i = 0; i < list.size(); ++i) {
    tensors.push_back({list[i].name,
                       model::Dtype::f32,
                       list[i].shape,
                       {reinterpret_cast<const char*>(values[i].data()), 4 * values[i].size()}});
  }
  model::write_directory(output, description, tensors, add_text);
  return description;
}

}  // namespace residual::interop
