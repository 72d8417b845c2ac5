#include "decode/language/text_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "decode/lines.h"

namespace residual::decode {
namespace {

void copy_line(std::string_view line, std::string& out) { out += line; }

}  // namespace

std::vector<std::string> text_languages(const model::Description& description) {
  std::vector<std::string> languages;
  for (const auto& direction : description.directions) {
    if (std::ranges::count(languages, direction.target) == 0) {
      languages.push_back(direction.target);
    }
  }
  return languages;
}

TextSide TextSide::of(const model::Directory& model, const std::string& language, bool pieces) {
  const bool is_decoder = model.description().model.has_decoder();
  TextSide side;
  side.vocabulary = std::make_shared<text::Vocabulary>(is_decoder ? model.target_vocabulary()
                                                                  : model.source_vocabulary());
  const auto symbols = model.description().model.output_vocabulary();
  require(symbols == side.vocabulary->size(), "{}: the model has {} symbols, its vocabulary {}",
          model.path().string(), symbols, side.vocabulary->size());
  if (pieces) return side;
  const auto languages = text_languages(model.description());
  require(!languages.empty(),
          "{}: has no segmentation, so that it takes pieces between spaces: use --pieces",
          model.path().string());
  require(!language.empty() || languages.size() == 1, "{}: writes {}; choose one (--language)",
          model.path().string(), fmt::join(languages, ", "));
  const std::string chosen = language.empty() ? languages[0] : language;
  require(std::ranges::count(languages, chosen) > 0, "{}: has no text of {}; it has {}",
          model.path().string(), chosen, fmt::join(languages, ", "));
  const text::Segmenter segmenter = model.segmenter(chosen);
  side.to_pieces = [segmenter] { return segmenter.to_pieces(); };
  side.to_text = [segmenter] { return segmenter.to_text(); };
  return side;
}

TextCodec::TextCodec(const TextSide& side)
    : vocabulary_(side.vocabulary),
      to_pieces_(side.to_pieces ? side.to_pieces() : copy_line),
      to_text_(side.to_text ? side.to_text() : copy_line) {}

std::vector<int32_t> TextCodec::ids(std::string_view text, const char* what, uint64_t number) {
  check_words(text, what, number);
  std::string line(text), pieces;
  std::ranges::replace(line, '\n', ' ');
  to_pieces_(line, pieces);
  std::vector<int32_t> ids;
  vocabulary_->encode(pieces, ids);
  ids.pop_back();  // </s>
  return ids;
}

std::string TextCodec::text(std::span<const int32_t> ids) {
  std::string text;
  to_text_(vocabulary_->decode(ids), text);
  return text;
}

}  // namespace residual::decode
