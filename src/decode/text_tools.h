#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "model/directory.h"
#include "text/lines.h"
#include "text/sentences.h"
#include "text/vocabulary.h"

namespace residual::decode {

// What of a model's text is wanted.
struct TextChoice {
  std::string source, target;  // languages; empty if the model leaves no choice
  bool any_direction = false;  // or if the direction is chosen afterwards, by towards()
  bool pieces = false;         // text is pieces already
};

// How a model's text becomes tokens and back.
struct TextTools {
  std::shared_ptr<const text::Vocabulary> source_vocabulary, target_vocabulary;  // one, or two
  // Make a function for one thread; none: text is pieces already.
  std::function<text::LineTransform()> to_source_pieces, to_target_pieces, to_text;
  // Of the languages; null: each text is one sentence. Copied for each thread.
  std::shared_ptr<const text::SentenceSplitter> source_sentences, target_sentences;
  std::string joint = " ";  // between translations of sentences that nothing stands between
  std::string source_tag;   // symbol before each source, if any
  std::shared_ptr<const model::Directory> model;  // that they are of; null: one in memory
  bool pieces = false;                            // text is pieces already

  // Those of another direction of the model, whose languages may be empty if there is no choice.
  TextTools towards(const std::string& source, const std::string& target) const;

  // Fails unless all models have the same vocabularies; the first one's segmentation is taken.
  static TextTools of(std::span<const std::shared_ptr<const model::Directory>> models,
                      const TextChoice& choice);
};

}  // namespace residual::decode
