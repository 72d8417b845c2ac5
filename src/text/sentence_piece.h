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
  double character_coverage = 0.9995;      // share of the text's characters that the pieces cover
  std::string normalization = "nmt_nfkc";  // or "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"
  bool byte_fallback = false;              // unknown characters become pieces <0x00> ... <0xFF>
  std::vector<std::string> user_symbols;   // each always forms one piece
  int64_t input_sentences = 0;             // number of sentences to sample; 0: all
  int64_t max_sentence_bytes = 4192;       // longer sentences are skipped
  uint64_t seed = 1;                       // seed of the sample
};

// Returns the bytes of a .model file that the SentencePiece library learns from all lines of the
// files ("-" is standard input). They depend only on the lines and the options.
std::string train_sentence_piece(std::span<const fs::path> files, Invalid invalid,
                                 const SentencePieceTraining& options);

// A SentencePiece model. It is immutable and may be used by several threads.
class SentencePiece {
 public:
  // After this call the process does not load models; it runs `program`, which is `residual`, to
  // encode and decode. Debian's SentencePiece contains an older copy of protobuf's symbols than
  // LibTorch needs, and one process cannot use both.
  static void run_by(const fs::path& program);

  // `name` is the file name in errors.
  SentencePiece(std::string_view model, const std::string& name);
  static SentencePiece load(const fs::path& path);

  // Appends the pieces, joined by spaces. Throws an Error for a word longer than kMaxWordBytes: the
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
