#include "text/sentence_piece.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "text/unicode.h"
#include "text/whitespace.h"

namespace residual::text {
namespace {

namespace spm = ::sentencepiece;

// Returns the last part, if any, of "src/file.cc(12) [condition] What is wrong", with our spelling
// of options.
std::string reason(const spm::util::Status& status) {
  std::string text = status.error_message();
  const size_t bracket = text.rfind("] ");
  if (bracket != std::string::npos) text.erase(0, bracket + 2);
  for (size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
    for (; at < text.size() && text[at] != ' '; ++at) text[at] = text[at] == '_' ? '-' : text[at];
  }
  return text;
}

// The lines of several files for the library, which knows no exceptions: the first one ends the
// text and is thrown again by rethrow().
class Sentences : public spm::SentenceIterator {
 public:
  Sentences(std::span<const fs::path> files, Invalid invalid) : files_(files), invalid_(invalid) {
    Next();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  spm::util::Status status() const override { return {}; }

  void Next() override {
    try {
      done_ = !advance();
    } catch (...) {
      error_ = std::current_exception();
      done_ = true;
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  bool advance() {
    while (!block_ || at_ == block_->bytes.size()) {
      if (!reader_) {
        if (file_ == files_.size()) return false;
        reader_.emplace(files_[file_++], invalid_);
      }
      block_ = reader_->next();
      at_ = 0;
      if (!block_) reader_.reset();
    }
    const size_t end = block_->bytes.find('\n', at_);
    line_.assign(block_->bytes, at_, end - at_);
    at_ = end + 1;
    return true;
  }

  std::span<const fs::path> files_;
  Invalid invalid_;
  size_t file_ = 0;
  std::optional<LineReader> reader_;
  std::optional<LineBlock> block_;
  size_t at_ = 0;
  std::string line_;
  bool done_ = false;
  std::exception_ptr error_;
};

// A list as the library reads it: comma-separated values.
std::string joined(const std::vector<std::string>& symbols) {
  std::string out;
  for (const std::string& symbol : symbols) {
    require(symbol.find_first_of(",\"\n") == std::string::npos && !symbol.empty(),
            "sentencepiece: a symbol cannot be empty or contain a comma, quote or line end: \"{}\"",
            symbol);
    out += (out.empty() ? "" : ",") + symbol;
  }
  return out;
}

// Tells lines that the library learns from. Its unigram trainer ends the process if there is none.
class Usable {
 public:
  explicit Usable(const SentencePieceTraining& options) : max_bytes_(options.max_sentence_bytes) {
    // The library shows its normaliser only as a part of a model: one of a single letter will do.
    Letter letter;
    std::string model;
    const auto status =
        spm::SentencePieceTrainer::Train({{"model_type", "char"},
                                          {"vocab_size", "5"},
                                          {"normalization_rule_name", options.normalization},
                                          {"minloglevel", "2"}},
                                         &letter, &model);
    require(status.ok() && normalizer_.LoadFromSerializedProto(model).ok(), "sentencepiece: {}",
            reason(status));
  }

  bool operator()(const std::string& line) const {
    constexpr std::string_view kReserved = "\xe2\x96\x85";  // U+2585 for <unk>
    if (static_cast<int64_t>(line.size()) > max_bytes_) return false;
    if (line.find(kReserved) != std::string::npos) return false;
    std::vector<std::string> pieces;
    for (size_t at = 0; at < line.size() && pieces.empty();) {
      const size_t begin = at;
      next_code_point(line, at);
      normalizer_.Encode(line.substr(begin, at - begin), &pieces).IgnoreError();
    }
    return !pieces.empty();
  }

 private:
  struct Letter : spm::SentenceIterator {
    bool is_done = false;
    std::string text = "a";
    bool done() const override { return is_done; }
    const std::string& value() const override { return text; }
    spm::util::Status status() const override { return {}; }
    void Next() override { is_done = true; }
  };

  int64_t max_bytes_;
  spm::SentencePieceProcessor normalizer_;
};

}  // namespace

std::string train_sentence_piece(std::span<const fs::path> files, Invalid invalid,
                                 const SentencePieceTraining& options) {
  const bool is_verbose = log::level() == log::Level::debug;
  std::unordered_map<std::string, std::string> arguments{
      {"model_type", options.model_type},
      {"vocab_size", std::to_string(options.vocab_size)},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"normalization_rule_name", options.normalization},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"input_sentence_size", std::to_string(options.input_sentences)},
      {"max_sentence_length", std::to_string(options.max_sentence_bytes)},
      // The sums of unigram training depend on how the text is divided: always as by default, and
      // not by the number of cores.
      {"num_threads", "16"},
      {"minloglevel", is_verbose ? "0" : "2"}};  // errors: some are all that it says
  if (!options.user_symbols.empty()) {
    arguments["user_defined_symbols"] = joined(options.user_symbols);
  }
  const Usable is_usable(options);
  Sentences sentences(files, invalid);
  while (!sentences.done() && !is_usable(sentences.value())) sentences.Next();
  sentences.rethrow();
  require(!sentences.done(),
          "sentencepiece: no line to learn from: every line of up to {} bytes is empty or only "
          "white space",
          options.max_sentence_bytes);
  spm::SetRandomGeneratorSeed(static_cast<unsigned>(options.seed));
  std::string model;
  const auto status = spm::SentencePieceTrainer::Train(arguments, &sentences, &model);
  sentences.rethrow();
  const std::string why = reason(status);
  require(status.ok(), "sentencepiece: {}",
          why.empty()
              ? "the library rejects this text or these settings without a reason; is there "
                "enough text (more than 100 sentences) and no duplicate symbol?"
              : why);
  return model;
}

class SentencePiece::Processor {
 public:
  virtual ~Processor() = default;
  virtual std::string encode(std::string_view line) const = 0;
  virtual std::string decode(std::string_view pieces) const = 0;
  virtual std::vector<std::string> pieces() const = 0;
};

class SentencePiece::Linked : public Processor {
 public:
  Linked(std::string_view model, const std::string& name) {
    const auto status = processor_.LoadFromSerializedProto(model);
    require(status.ok(), "{}: not a SentencePiece model{}{}", name,
            reason(status).empty() ? "" : ": ", reason(status));
  }

  std::string encode(std::string_view line) const override {
    std::vector<std::string> pieces;
    const auto status = processor_.Encode(line, &pieces);
    require(status.ok(), "sentencepiece: {}", reason(status));
    return fmt::format("{}", fmt::join(pieces, " "));
  }
  std::string decode(std::string_view pieces) const override {
    std::vector<std::string> split;
    for (size_t at = 0; at <= pieces.size();) {
      const size_t end = std::min(pieces.find(' ', at), pieces.size());
      split.emplace_back(pieces.substr(at, end - at));
      at = end + 1;
    }
    std::string text;
    const auto status = processor_.Decode(split, &text);
    require(status.ok(), "sentencepiece: {}", reason(status));
    return text;
  }
  std::vector<std::string> pieces() const override {
    std::vector<std::string> all;
    for (int id = 0; id < processor_.GetPieceSize(); ++id) all.push_back(processor_.IdToPiece(id));
    return all;
  }

 private:
  spm::SentencePieceProcessor processor_;
};

// Its program is started when it is first asked.
class SentencePiece::Apart : public Processor {
 public:
  Apart(std::string_view model, const std::string& name, fs::path program)
      : program_(std::move(program)), model_(::memfd_create("sentencepiece", MFD_CLOEXEC)) {
    if (model_ < 0) fail_errno(name, "cannot store the model in memory");
    FileSystem::real().write(model_, name, model);
  }
  ~Apart() override { ::close(model_); }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  std::string encode(std::string_view line) const override { return ask("encode", encoder_, line); }
  std::string decode(std::string_view pieces) const override {
    return ask("decode", decoder_, pieces);
  }
  std::vector<std::string> pieces() const override {
    fail("sentencepiece: another process holds the model and cannot list its pieces");
  }

 private:
  std::string ask(const char* task, std::optional<Filter>& filter, std::string_view line) const {
    const std::lock_guard lock(mutex_);
    if (!filter) {
      filter.emplace(std::vector<std::string>{program_, "--quiet", "--threads", "1",
                                              "sentencepiece", task, "--model", "/proc/self/fd/3"},
                     model_);
    }
    return (*filter)(line);
  }

  std::string program_;
  int model_;
  mutable std::mutex mutex_;
  mutable std::optional<Filter> encoder_, decoder_;
};

namespace {

fs::path program_apart;  // empty: none

}  // namespace

void SentencePiece::run_by(const fs::path& program) { program_apart = program; }

SentencePiece::SentencePiece(std::string_view model, const std::string& name) {
  if (program_apart.empty()) {
    processor_ = std::make_shared<Linked>(model, name);
  } else {
    processor_ = std::make_shared<Apart>(model, name, program_apart);
  }
}

SentencePiece SentencePiece::load(const fs::path& path) {
  return SentencePiece(read_file(path), path.string());
}

void SentencePiece::encode(std::string_view line, std::string& out) const {
  if (line.size() > kMaxWordBytes) {
    for_each_token(line, [](std::string_view word) {
      require(
          word.size() <= kMaxWordBytes,
          "sentencepiece: expected words of at most {} bytes, got one of {}; split it with spaces",
          kMaxWordBytes, word.size());
    });
  }
  out += processor_->encode(line);
}

void SentencePiece::decode(std::string_view pieces, std::string& out) const {
  out += processor_->decode(pieces);
}

std::vector<std::string> SentencePiece::pieces() const { return processor_->pieces(); }

}  // namespace residual::text
