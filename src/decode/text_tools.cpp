#include "decode/text_tools.h"

#include <set>

#include "base/error.h"

namespace residual::decode {

using text::Vocabulary;

namespace {

// Languages that are written without spaces between words.
const std::set<std::string> kWithoutSpaces = {"ja", "km", "lo", "my", "th", "yue", "zh"};

}  // namespace

TextTools TextTools::of(std::span<const std::shared_ptr<const model::Directory>> models,
                        const TextChoice& choice) {
  const model::Directory& first = *models[0];
  TextTools tools;
  tools.source_vocabulary = std::make_shared<text::Vocabulary>(first.source_vocabulary());
  const bool is_one =
      first.description().source_vocabulary == first.description().target_vocabulary;
  tools.target_vocabulary = is_one ? tools.source_vocabulary
                                   : std::make_shared<text::Vocabulary>(first.target_vocabulary());
  for (const auto& other : models.subspan(1)) {
    const bool same = other->source_vocabulary().format() == tools.source_vocabulary->format() &&
                      other->target_vocabulary().format() == tools.target_vocabulary->format();
    require(same, "{} and {} have different vocabularies; only models with one can decide together",
            first.path().string(), other->path().string());
  }
  tools.model = models[0];
  tools.pieces = choice.pieces;
  const auto& directions = first.description().directions;
  const bool is_open = choice.any_direction && directions.size() > 1 && choice.source.empty() &&
                       choice.target.empty();
  if (is_open || (choice.pieces && directions.empty())) return tools;
  const model::Direction chosen = first.direction(choice.source, choice.target);
  for (const auto& other : models.subspan(1)) {
    const std::string tag = other->direction(chosen.source, chosen.target).source_tag;
    require(tag == chosen.source_tag,
            "{} and {} mark the direction of a source differently; they cannot decide together",
            first.path().string(), other->path().string());
  }
  return tools.towards(choice.source, choice.target);
}

TextTools TextTools::towards(const std::string& source, const std::string& target) const {
  TextTools tools = *this;
  const model::Direction direction = model->direction(source, target);
  tools.source_tag = direction.source_tag;
  require(tools.source_tag.empty() || source_vocabulary->id(tools.source_tag) != Vocabulary::kUnk,
          "{}: {}, which goes before each source sentence, is not in the vocabulary",
          model->path().string(), tools.source_tag);
  if (pieces) return tools;
  const text::Segmenter from = model->segmenter(direction.source);
  const text::Segmenter to = model->segmenter(direction.target);
  tools.to_source_pieces = [from] { return from.to_pieces(); };
  tools.to_target_pieces = [to] { return to.to_pieces(); };
  tools.to_text = [to] { return to.to_text(); };
  tools.source_sentences = std::make_shared<text::SentenceSplitter>(direction.source);
  tools.target_sentences = std::make_shared<text::SentenceSplitter>(direction.target);
  if (kWithoutSpaces.contains(text::without_region(direction.target))) tools.joint = "";
  return tools;
}

}  // namespace residual::decode
