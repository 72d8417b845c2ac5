#include "model/marian.h"

#include "base/error.h"
#include "model/marian_model.h"
#include "model/parameters.h"
#include "text/sentence_piece.h"

namespace residual::model {
namespace {

// SentencePiece models of both sides, under names of their own unless they are one.
void save_segmentation(const MarianImport& o, const fs::path& directory) {
  const auto pieces_of = [](const fs::path& given, const fs::path& vocabulary) {
    return given.empty() && vocabulary.extension() == ".spm" ? vocabulary : given;
  };
  struct Text {
    std::string language;
    fs::path pieces;
  };
  const Text sides[] = {{o.source_language, pieces_of(o.source_pieces, o.source_vocabulary)},
                        {o.target_language, pieces_of(o.target_pieces, o.target_vocabulary)}};
  const auto bytes = [](const fs::path& path) {
    if (path.empty()) return std::string();
    text::SentencePiece::load(path);  // whose errors name it
    return read_file(path);
  };
  const bool same = bytes(sides[0].pieces) == bytes(sides[1].pieces);
  for (const auto& [language, pieces] : sides) {
    text::SegmenterOptions options{.language = language,
                                   .normalize_punctuation = o.normalize_punctuation,
                                   .tokenizer = "none",
                                   .subwords = pieces.empty() ? "none" : "sentencepiece"};
    if (!pieces.empty()) {
      options.model = same ? "pieces.spm" : fmt::format("pieces.{}.spm", language);
    }
    text::Segmenter(options, bytes(pieces)).save(directory, language);
  }
}

}  // namespace

// As it will be when the model is read again.
void require_in_range(const Config& config, const std::string& name) {
  Config again;
  read_toml(to_toml(config), name, [&](ConfigVisitor& visit) { fields(visit, again); });
}

Description import_marian(const MarianImport& given, const fs::path& output) {
  MarianImport options = given;
  const bool is_hf = fs::is_directory(options.weights);
  if (is_hf) complete_from_hf(options);
  for (const auto& language : {options.source_language, options.target_language}) {
    check_language(language);
  }
  require(options.source_language != options.target_language,
          "both languages are \"{}\"; their files would have one name", options.source_language);
  const MarianModel read = is_hf ? read_marian_hf(options) : read_marian_npz(options);
  const Config& config = read.config;
  const text::Vocabulary &source = read.source.vocabulary, &target = read.target.vocabulary;
  const bool joined = source.format() == target.format();
  require(joined || config.sharing != Sharing::all,
          "{} and {} differ, but source and target share their embedding; give one vocabulary for "
          "both",
          options.source_vocabulary.string(), options.target_vocabulary.string());

  const fs::path from = (options.weights / "").parent_path();  // "dir/" is "dir"
  Description description{
      .origin = fmt::format("imported from {} ({})", from.filename().string(),
                            is_hf ? "Hugging Face's MarianMT" : "Marian"),
      .directions = {{options.source_language, options.target_language, options.source_tag}},
      .model = config};
  if (!joined) {
    description.source_vocabulary = fmt::format("vocabulary.{}.txt", options.source_language);
    description.target_vocabulary = fmt::format("vocabulary.{}.txt", options.target_language);
  }
  require(options.source_tag.empty() || source.id(options.source_tag) != text::Vocabulary::kUnk,
          "{}: has no symbol {}", options.source_vocabulary.string(), options.source_tag);
  std::vector<TensorBytes> tensors;
  for (const auto& p : parameters(config)) {
    const auto& v = read.values.at(p.name);
    tensors.push_back({p.name,
                       Dtype::f32,
                       p.shape,
                       {reinterpret_cast<const char*>(v.data()), sizeof(float) * v.size()}});
  }
  write_directory(output, description, tensors, [&](const fs::path& directory) {
    source.save(directory / description.source_vocabulary);
    if (!joined) target.save(directory / description.target_vocabulary);
    save_segmentation(options, directory);
  });
  return description;
}

}  // namespace residual::model
