#include "train/bleu.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "decode/translator.h"
#include "metrics/bleu.h"
#include "metrics/read.h"
#include "model/parameters.h"

namespace residual::train {
namespace {

constexpr size_t kSamples = 6, kMostSamples = 24;

decode::TextTools text_tools(const run::Corpora& corpora, const model::Description& model,
                             const model::Direction& direction) {
  const auto source = corpora.segmenter(direction.source);
  const auto target = corpora.segmenter(direction.target);
  const auto vocabulary = [&](const std::string& file) {
    return std::make_shared<const text::Vocabulary>(corpora.vocabulary(file));
  };
  return {.source_vocabulary = vocabulary(model.source_vocabulary),
          .target_vocabulary = vocabulary(model.target_vocabulary),
          .to_source_pieces = [source] { return source.to_pieces(); },
          .to_target_pieces = [target] { return target.to_pieces(); },
          .to_text = [target] { return target.to_text(); },
          .source_tag = direction.source_tag};
}

// Takes sentences at equal distances from a text: fewer from each of several.
void add_samples(const std::vector<std::string>& sources,
                 const std::vector<std::string>& references,
                 const std::vector<std::string>& translations, size_t texts,
                 std::vector<DevBleu::Sample>& samples) {
  if (samples.size() >= kMostSamples) return;
  const size_t wanted = std::max<size_t>(1, kSamples / texts);
  const size_t count = std::min(wanted, sources.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (2 * i + 1) * sources.size() / (2 * count);
    samples.push_back({sources[at], references[at], translations[at]});
  }
}

}  // namespace

DevBleu::DevBleu(const run::Corpora& corpora, const run::TrainConfig& config)
    : corpora_(corpora), config_(config) {
  corpora.require_dev_text();
  for (const auto& dev : corpora.dev()) {
    texts_.push_back({.direction = {dev.source, dev.target, dev.source_tag},
                      .sources = metrics::read_lines(corpora.directory() / dev.source_text,
                                                     text::Invalid::refuse),
                      .references = metrics::read_lines(corpora.directory() / dev.target_text,
                                                        text::Invalid::refuse)});
  }
}

DevBleu::Result DevBleu::score(std::span<const float> values) const {
  std::map<std::string, std::span<const float>> parameters;
  for (const auto& p : model::parameters(config_.model)) {
    const auto size = static_cast<size_t>(p.size());
    parameters[p.name] = values.first(size);
    values = values.subspan(size);
  }
  const auto weights = decode::copy_weights(config_.model, parameters, decode::Precision::float32);
  const auto description = corpora_.description(config_);
  decode::TranslatorOptions options;
  options.text.sentences = decode::Sentences::keep;  // a line is a sentence of the test set
  options.search.beam = config_.validate.beam;
  options.search.max_length_factor = 1.2;
  Result result;
  for (const auto& text : texts_) {
    decode::Translator translator({weights}, text_tools(corpora_, description, text.direction),
                                  options);
    std::vector<std::string> translations;
    for (auto& translation : translator.translate(text.sources)) {
      translations.push_back(std::move(translation.outputs.front().text));
    }
    add_samples(text.sources, text.references, translations, texts_.size(), result.samples);
    // A model of lower-cased text cannot produce case, so its references are lower-cased too.
    const auto target = corpora_.segmenter(text.direction.target);
    result.bleu += metrics::corpus_bleu(translations, {text.references},
                                        {.lowercase = target.options().lowercase})
                       .score /
                   static_cast<double>(texts_.size());
  }
  return result;
}

}  // namespace residual::train
