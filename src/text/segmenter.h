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

// One after the other, each on what the one before gave; no step leaves lines as they are.
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
  // File of the BPE codes or the SentencePiece model, in the same directory. Sides that share a
  // model name the same file. Empty: save() names it after the side.
  std::string model;
};

void fields(ConfigVisitor& visit, SegmenterOptions& options);

// What a prepared corpus or a model directory knows about turning raw text of one side into pieces
// and back: segmentation.<side>.toml and the file of codes or pieces that it names. Immutable;
// copies share everything.
class Segmenter {
 public:
  // `model`: the bytes of the codes or model file; empty if subwords is "none".
  Segmenter(SegmenterOptions options, std::string model);

  // Errors name the file.
  static Segmenter load(const fs::path& directory, const std::string& side);
  // The same with files that `read` gives by name; `place` stands before the names in errors.
  using ReadFile = std::function<std::string(const std::string& name)>;
  static Segmenter load(const ReadFile& read, const std::string& place, const std::string& side);
  // Only what segmentation.<side>.toml says.
  static SegmenterOptions load_options(const ReadFile& read, const std::string& place,
                                       const std::string& side);
  void save(const fs::path& directory, const std::string& side) const;

  const SegmenterOptions& options() const { return options_; }

  // Each call gives a function for one thread.
  LineTransform to_words() const;         // raw text: normalise, tokenise, lower-case
  LineTransform words_to_pieces() const;  // then sub-words
  LineTransform to_pieces() const;        // both
  LineTransform to_text() const;          // pieces to words to text: undo, detokenise

  // Its BPE with merges left out at random; an Error if it has another kind of sub-words.
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
