#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/files.h"
#include "text/bpe.h"
#include "text/detokenizer.h"
#include "text/lines.h"
#include "text/normalizer.h"
#include "text/sentence_piece.h"
#include "text/tokenizer.h"

namespace residual::text {

// Returns a transform that applies the steps in order. Without steps, lines stay unchanged.
LineTransform chain(std::vector<LineTransform> steps);

struct SegmenterOptions {
  std::string language = "en";
  bool normalize_punctuation = false;
  bool remove_non_printing = false;
  std::string tokenizer = "moses";  // or "none"
  bool aggressive = false;
  bool escape = true;
  bool lowercase = false;
  std::string subwords = "bpe";  // or "sentencepiece", "none"
  // The file of the BPE codes or the SentencePiece model, in the same directory. Sides that share a
  // model name the same file. If it is empty, save() names the file after the side.
  std::string model;
};
inline void fields(ConfigVisitor& visit, SegmenterOptions& o) {
  visit("language", o.language, "language whose normalisation and tokenisation rules apply");
  visit("normalize_punctuation", o.normalize_punctuation,
        "normalise as Moses' normalize-punctuation does");
  visit("remove_non_printing", o.remove_non_printing, "replace control characters with spaces");
  visit("tokenizer", o.tokenizer, "moses or none");
  visit("aggressive", o.aggressive, "moses: split at hyphens");
  visit("escape", o.escape, "moses: write & | < > ' \" [ ] as entities");
  visit("lowercase", o.lowercase, "lower-case the text after tokenisation");
  visit("subwords", o.subwords, "bpe, sentencepiece or none");
  visit("model", o.model, "file of BPE codes or SentencePiece model in this directory");
}

// Turns raw text of one side into pieces and back, as a prepared corpus or a model directory
// prescribes: segmentation.<side>.toml and the codes or model file that it names. A Segmenter is
// immutable; copies share everything.
class Segmenter {
 public:
  // `model` has the bytes of the codes or model file; it is empty if subwords is "none".
  Segmenter(SegmenterOptions options, std::string model);

  // Loads the settings and the model from a directory. Errors name the file.
  static Segmenter load(const fs::path& directory, const std::string& side);
  // Loads from files that `read` returns by name. `place` precedes the names in errors.
  using ReadFile = std::function<std::string(const std::string& name)>;
  static Segmenter load(const ReadFile& read, const std::string& place, const std::string& side);
  // Loads only segmentation.<side>.toml.
  static SegmenterOptions load_options(const ReadFile& read, const std::string& place,
                                       const std::string& side);
  void save(const fs::path& directory, const std::string& side) const;

  const SegmenterOptions& options() const { return options_; }

  // Each call returns a function for one thread.
  LineTransform to_words() const;         // raw text: normalise, tokenise, lower-case
  LineTransform words_to_pieces() const;  // words to sub-words
  LineTransform to_pieces() const;        // raw text to sub-words
  LineTransform to_text() const;          // pieces to words to detokenised text

  // Returns the BPE with dropout. Throws an Error if the sub-words are not BPE.
  std::shared_ptr<const Bpe> bpe_with_dropout(double dropout, uint64_t seed) const;

 private:
  Segmenter(SegmenterOptions options, std::string model, const std::string& model_name);

  SegmenterOptions options_;
  std::shared_ptr<const std::string> model_;
  std::shared_ptr<const PunctuationNormalizer> normalizer_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const Detokenizer> detokenizer_;
  std::shared_ptr<const Bpe> bpe_;
  std::shared_ptr<const SentencePiece> sentence_piece_;
};

}  // namespace residual::text
