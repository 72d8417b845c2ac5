#include "data/preparing/like.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/prepared.h"

namespace residual::data {
namespace {

TextOptions text_of(const text::SegmenterOptions& o) {
  return {.normalize_punctuation = o.normalize_punctuation,
          .remove_non_printing = o.remove_non_printing,
          .tokenizer = o.tokenizer == "moses" ? TokenizerKind::moses : TokenizerKind::none,
          .aggressive = o.aggressive,
          .escape = o.escape,
          .lowercase = o.lowercase};
}

SubwordKind kind_of(const text::SegmenterOptions& o) {
  if (o.subwords == "none") return SubwordKind::none;
  return o.subwords == "bpe" ? SubwordKind::bpe : SubwordKind::sentencepiece_unigram;
}

}  // namespace

Like like_prepared(const fs::path& directory) {
  const Manifest manifest = load_manifest(directory);
  Like like{.place = directory.string(),
            .read = [directory, manifest](
                        const std::string& file) { return read_listed(manifest, directory, file); },
            .language_tags = manifest.recipe.vocabulary.language_tags};
  for (const auto& vocabulary : manifest.vocabularies) {
    for (const auto& language : vocabulary.languages) {
      like.vocabularies[language] = vocabulary.file;
    }
  }
  return like;
}

Recipe adopt(const Like& like, Recipe recipe) {
  const std::string& name = like.place;
  std::optional<text::SegmenterOptions> first;
  for (const auto& pair : language_pairs(recipe)) {
    for (const auto& language : {pair.source, pair.target}) {
      require(like.vocabularies.contains(language), "like: {} has no {}", name, language);
      const auto options = text::Segmenter::load_options(like.read, name, language);
      if (!first) first = options;
      require(to_toml(text_of(options)) == to_toml(text_of(*first)) &&
                  kind_of(options) == kind_of(*first),
              "like: the languages of {} are segmented in different ways", name);
      recipe.subwords.joint = options.model == first->model;
    }
    recipe.vocabulary.joined =
        like.vocabularies.at(pair.source) == like.vocabularies.at(pair.target);
  }
  recipe.text = text_of(*first);
  recipe.subwords.kind = kind_of(*first);
  recipe.vocabulary.language_tags = like.language_tags;
  return recipe;
}

}  // namespace residual::data
