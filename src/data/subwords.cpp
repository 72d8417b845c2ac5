#include "data/subwords.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/progress.h"
#include "text/bpe_learner.h"

namespace residual::data {
namespace {

std::string file_name(SubwordKind kind, const std::string& language) {
  const std::string infix = language.empty() ? "" : "." + language;
  if (kind == SubwordKind::bpe) return "bpe" + infix + ".codes";
  if (kind == SubwordKind::none) return "";
  return "sentencepiece" + infix + ".model";
}

std::string learn_model(const SubwordOptions& options, const std::vector<fs::path>& texts) {
  if (options.kind == SubwordKind::none) return "";
  if (options.kind == SubwordKind::bpe) {
    log::info("learning {} merges", format_count(static_cast<uint64_t>(options.merges)));
    const auto words = text::count_words(texts, text::Invalid::refuse, text::count_bpe_words);
    return text::format_codes(
        text::learn_bpe(words, {.merges = options.merges, .min_frequency = options.min_frequency}));
  }
  log::info("learning {} pieces", format_count(static_cast<uint64_t>(options.vocabulary_size)));
  const bool unigram = options.kind == SubwordKind::sentencepiece_unigram;
  return text::train_sentence_piece(texts, text::Invalid::refuse,
                                    {.model_type = unigram ? "unigram" : "bpe",
                                     .vocab_size = options.vocabulary_size,
                                     .character_coverage = options.character_coverage,
                                     .input_sentences = options.sentences});
}

}  // namespace

text::SegmenterOptions segmenter_options(const Recipe& recipe, const std::string& language,
                                         const std::string& model) {
  const SubwordKind kind = recipe.subwords.kind;
  return {.language = language,
          .normalize_punctuation = recipe.text.normalize_punctuation,
          .remove_non_printing = recipe.text.remove_non_printing,
          .tokenizer = recipe.text.tokenizer == TokenizerKind::moses ? "moses" : "none",
          .aggressive = recipe.text.aggressive,
          .escape = recipe.text.escape,
          .lowercase = recipe.text.lowercase,
          .subwords = kind == SubwordKind::none  ? "none"
                      : kind == SubwordKind::bpe ? "bpe"
                                                 : "sentencepiece",
          .model = model};
}

Subwords::Subwords(const Recipe& recipe, const std::map<std::string, std::vector<fs::path>>& texts)
    : recipe_(recipe) {
  if (!recipe.subwords.joint) {
    for (const auto& [language, files] : texts) {
      models_[language] = learn(file_name(recipe.subwords.kind, language), language, files);
    }
    return;
  }
  std::vector<fs::path> all;
  for (const auto& [language, files] : texts) all.insert(all.end(), files.begin(), files.end());
  const auto model = learn(file_name(recipe.subwords.kind, ""), texts.begin()->first, all);
  for (const auto& [language, files] : texts) models_[language] = model;
}

Subwords::Subwords(const Recipe& recipe, const Like& like, const std::set<std::string>& languages)
    : recipe_(recipe) {
  for (const auto& language : languages) {
    const auto segmenter = text::Segmenter::load(like.read, like.place, language);
    const std::string& file = segmenter.options().model;
    const std::string bytes = file.empty() ? "" : like.read(file);
    models_[language] = std::make_shared<Model>(Model{file, bytes, segmenter});
  }
}

std::shared_ptr<const Subwords::Model> Subwords::learn(const std::string& file,
                                                       const std::string& language,
                                                       const std::vector<fs::path>& texts) const {
  const std::string bytes = learn_model(recipe_.subwords, texts);
  return std::make_shared<Model>(
      Model{file, bytes, text::Segmenter(segmenter_options(recipe_, language, file), bytes)});
}

void Subwords::save(const fs::path& directory) const {
  for (const auto& [language, model] : models_) {
    text::Segmenter(segmenter_options(recipe_, language, model->file), model->bytes)
        .save(directory, language);
  }
}

}  // namespace residual::data
