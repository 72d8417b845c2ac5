#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/directory.h"
#include "text/lines.h"
#include "text/vocabulary.h"

namespace residual::decode {

// The text of a model with one side, a language or masked model, and its symbols.
struct TextSide {
  std::shared_ptr<const text::Vocabulary> vocabulary;
  // Make a function for one thread; none: text is pieces between spaces.
  std::function<text::LineTransform()> to_pieces, to_text;

  // Of one of the model's languages, which may be empty if there is no choice.
  static TextSide of(const model::Directory& model, const std::string& language, bool pieces);
};

// The languages of a model's text, in order.
std::vector<std::string> text_languages(const model::Description& description);

// Text to ids and back, for one thread.
class TextCodec {
 public:
  explicit TextCodec(const TextSide& side);

  // Without </s>. A line break counts as a space. Fails at a word that is no text; `what` names it
  // there.
  std::vector<int32_t> ids(std::string_view text, const char* what, uint64_t number);
  std::string text(std::span<const int32_t> ids);

 private:
  std::shared_ptr<const text::Vocabulary> vocabulary_;
  text::LineTransform to_pieces_, to_text_;
};

}  // namespace residual::decode
