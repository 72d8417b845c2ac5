#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "text/lines.h"

namespace residual::text {

struct SentencePieceTraining {
  std::string model_type = "unigram";  // or "bpe"
  int64_t vocab_size = 8000;
  double character_coverage = 0.9995;      // of the text, by the pieces' characters
  std::string normalization = "nmt_nfkc";  // or "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"
  bool byte_fallback = false;              // unknown characters become pieces <0x00> ... <0xFF>
  std::vector<std::string> user_symbols;   // always one piece each
  int64_t input_sentences = 0;             // learn from a sample of so many; 0: from all
  int64_t max_sentence_bytes = 4192;       // longer sentences are not learnt from
  uint64_t seed = 1;                       // of the sample
};

// The bytes of a .model file, learnt by the SentencePiece library from all lines of the files
// ("-" is standard input). They depend on the lines and the options only.
std::string train_sentence_piece(std::span<const fs::path> files, Invalid invalid,
                                 const SentencePieceTraining& options);

// A SentencePiece model. Immutable; may be used by several threads at once.
class SentencePiece {
 public:
  // From now on models are not loaded: this program, `residual`, is run for what they are asked.
  // Debian's SentencePiece has an older copy of protobuf's symbols than LibTorch needs, and in one
  // process only one of them can be right.
  static void run_by(const fs::path& program);

  // `name` is the file named in errors.
  SentencePiece(std::string_view model, const std::string& name);
  static SentencePiece load(const fs::path& path);

  // Appends pieces joined by spaces. Throws Error for a word longer than kMaxWordBytes: the
  // library's time grows with the square of a run of unknown characters.
  static constexpr size_t kMaxWordBytes = 1 << 19;
  void encode(std::string_view line, std::string& out) const;
  void decode(std::string_view pieces, std::string& out) const;

  std::vector<std::string> pieces() const;  // by id

 private:
  class Processor;
  class Linked;
  class Apart;
  std::shared_ptr<const Processor> processor_;
};

}  // namespace residual::text
