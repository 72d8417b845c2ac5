#include "interop/marian.h"

#include <set>

#include "base/error.h"
#include "base/log.h"
#include "interop/marian_model.h"
#include "model/parameters.h"
#include "text/sentence_piece.h"

namespace residual::interop {
namespace {

constexpr const char* kAllTags = "all";

// Returns the language that a tag like ">>deu<<" names, or nothing if the symbol is not a tag.
std::optional<std::string_view> language_of(std::string_view symbol) {
  if (!symbol.starts_with(">>") || !symbol.ends_with("<<") || symbol.size() < 5) return {};
  return symbol.substr(2, symbol.size() - 4);
}

// One that would make a language of the source's name is none.
std::vector<std::string> all_tags(const text::Vocabulary& vocabulary, const MarianImport& o) {
  std::vector<std::string> tags;
  for (int32_t id = text::Vocabulary::kSpecials; id < vocabulary.size(); ++id) {
    const std::string_view symbol = vocabulary.symbol(id);
    const auto language = language_of(symbol);
    if (language && *language != o.source_language) tags.emplace_back(symbol);
  }
  return tags;
}

std::vector<model::Direction> directions_of(const MarianImport& o,
                                            const text::Vocabulary& vocabulary) {
  const auto known = all_tags(vocabulary, o);
  if (o.source_tags.empty()) {
    if (known.size() > 1) {
      log::warn("{}: has {} tags like {}, but sources get none; choose tags, or all, with --tag",
                o.source_vocabulary.string(), known.size(), known[0]);
    }
    return {{o.source_language, o.target_language, ""}};
  }
  const bool wants_all = o.source_tags[0] == kAllTags;
  require(!wants_all || !known.empty(), "{}: has no symbol like >>deu<<; leave --tag out",
          o.source_vocabulary.string());
  const auto& tags = wants_all ? known : o.source_tags;
  std::vector<model::Direction> all;
  for (const auto& tag : tags) {
    require(vocabulary.id(tag) != text::Vocabulary::kUnk, "{}: has no symbol {}",
            o.source_vocabulary.string(), tag);
    if (!has_many_targets(o)) return {{o.source_language, o.target_language, tag}};
    const auto language = language_of(tag);
    require(language.has_value(), "--tag {}: each of several tags must look like >>deu<<", tag);
    all.push_back({o.source_language, std::string(*language), tag});
  }
  return all;
}

void check_languages(const std::vector<model::Direction>& directions) {
  std::set<std::string> names;
  for (const auto& d : directions) {
    model::check_language(d.source);
    model::check_language(d.target);
    require(d.source != d.target, "both languages are \"{}\"; their files would have the same name",
            d.source);
    require(names.insert(d.target).second, "{} has two tags", d.target);
  }
}

// SentencePiece models of both sides, in one file if they are one.
void save_segmentation(const MarianImport& o, const std::vector<model::Direction>& directions,
                       const fs::path& directory) {
  const auto pieces_of = [](const fs::path& given, const fs::path& vocabulary) {
    const fs::path& path = given.empty() && vocabulary.extension() == ".spm" ? vocabulary : given;
    if (path.empty()) return std::string();
    text::SentencePiece::load(path);  // whose errors name it
    return read_file(path);
  };
  const std::string source = pieces_of(o.source_pieces, o.source_vocabulary);
  const std::string target = pieces_of(o.target_pieces, o.target_vocabulary);
  const auto save = [&](const std::string& language, const std::string& pieces, const char* name) {
    text::SegmenterOptions options{.language = language,
                                   .normalize_punctuation = o.normalize_punctuation,
                                   .tokenizer = "none",
                                   .subwords = pieces.empty() ? "none" : "sentencepiece"};
    if (!pieces.empty()) options.model = source == target ? "pieces.spm" : name;
    text::Segmenter(options, pieces).save(directory, language);
  };
  save(o.source_language, source, "pieces.source.spm");
  for (const auto& d : directions) save(d.target, target, "pieces.target.spm");
}

}  // namespace

bool has_many_targets(const MarianImport& o) {
  return o.source_tags.size() > 1 || (o.source_tags.size() == 1 && o.source_tags[0] == kAllTags);
}

// As it will be when the model is read again.
void require_in_range(const model::Config& config, const std::string& name) {
  model::Config again;
  read_toml(to_toml(config), name, [&](ConfigVisitor& visit) { fields(visit, again); });
}

model::Description import_marian(const MarianImport& given, const fs::path& output) {
  MarianImport options = given;
  const bool is_hf = fs::is_directory(options.weights);
  if (is_hf) complete_from_hf(options);
  const MarianModel read = is_hf ? read_marian_hf(options) : read_marian_npz(options);
  const model::Config& config = read.config;
  const text::Vocabulary &source = read.source.vocabulary, &target = read.target.vocabulary;
  const auto directions = directions_of(options, source);
  check_languages(directions);
  const bool joined = source.format() == target.format();
  require(joined || config.sharing != model::Sharing::all,
          "{} and {} differ, but source and target share their embedding; give one vocabulary for "
          "both",
          options.source_vocabulary.string(), options.target_vocabulary.string());

  const fs::path from = (options.weights / "").parent_path();  // "dir/" is "dir"
  model::Description description{
      .origin = fmt::format("imported from {} ({})", from.filename().string(),
                            is_hf ? "Hugging Face's MarianMT" : "Marian"),
      .directions = directions,
      .model = config};
  if (!joined) {
    description.source_vocabulary = "vocabulary.source.txt";
    description.target_vocabulary = "vocabulary.target.txt";
  }
  std::vector<model::TensorBytes> tensors;
  for (const auto& p : model::parameters(config)) {
    const auto& v = read.values.at(p.name);
    tensors.push_back({p.name,
                       model::Dtype::f32,
                       p.shape,
                       {reinterpret_cast<const char*>(v.data()), sizeof(float) * v.size()}});
  }
  model::write_directory(output, description, tensors, [&](const fs::path& directory) {
    source.save(directory / description.source_vocabulary);
    if (!joined) target.save(directory / description.target_vocabulary);
    save_segmentation(options, directions, directory);
  });
  return description;
}

}  // namespace residual::interop
