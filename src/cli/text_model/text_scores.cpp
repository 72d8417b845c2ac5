#include "cli/text_model/text_scores.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"
#include "decode/json.h"

namespace residual::cli {
namespace {

using decode::TextScore;

constexpr size_t kBytes = 1 << 22;  // of text that is scored together

// Documents of the files, or their lines.
class Texts {
 public:
  explicit Texts(const TextFiles& o) : o_(o) {}

  // Some more; nothing at the end.
  std::vector<std::string> next() {
    std::vector<std::string> texts;
    size_t bytes = 0;
    while (bytes < kBytes) {
      auto text = one();
      if (!text) break;
      bytes += text->size();
      texts.push_back(std::move(*text));
    }
    return texts;
  }

 private:
  std::optional<std::string> one() {
    for (; file_ < o_.files.size(); ++file_, lines_.reset(), documents_.reset()) {
      if (o_.by_line) {
        if (!lines_) lines_.emplace(o_.files[file_], o_.invalid);
        if (auto line = lines_->next()) return line;
      } else {
        if (!documents_) documents_.emplace(o_.files[file_], o_.invalid);
        if (auto document = documents_->next()) return std::move(document->text);
      }
    }
    return std::nullopt;
  }

  const TextFiles& o_;
  size_t file_ = 0;
  std::optional<text::LineCursor> lines_;
  std::optional<text::DocumentCursor> documents_;
};

}  // namespace

TextScore score_files(const decode::TextScorer& scorer, const TextFiles& files,
                      const std::function<void(const TextScore&)>& each) {
  Progress progress("score", 0, "documents");
  TextScore total;
  Texts texts(files);
  for (auto some = texts.next(); !some.empty(); some = texts.next()) {
    for (const TextScore& score : scorer.score(some, total.documents + 1)) {
      if (each) each(score);
      total.add(score);
    }
    progress.add(some.size());
  }
  progress.finish();
  require(total.words > 0, "there is no text to score");
  return total;
}

std::string text_score_json(const TextScore& s) {
  return decode::dump({{"documents", s.documents},
                       {"tokens", s.tokens},
                       {"unknown", s.unknown},
                       {"words", s.words},
                       {"bytes", s.bytes},
                       {"log_probability", decode::rounded(s.log_probability)},
                       {"perplexity_per_token", decode::rounded(s.perplexity(s.tokens))},
                       {"perplexity_per_word", decode::rounded(s.perplexity(s.words))},
                       {"perplexity_per_byte", decode::rounded(s.perplexity(s.bytes))},
                       {"bits_per_byte", decode::rounded(s.bits_per_byte())}}) +
         '\n';
}

std::string text_score_table(const TextScore& s) {
  const auto row = [](const char* unit, uint64_t count, double perplexity) {
    return fmt::format("{:<8}{:>12}  {:>12.4f}\n", unit, format_count(count), perplexity);
  };
  return fmt::format("{} {}, log-probability {:.4f}, {:.4f} bits per byte\n",
                     format_count(s.documents), s.documents == 1 ? "document" : "documents",
                     s.log_probability, s.bits_per_byte()) +
         fmt::format("{:<8}{:>12}  {:>12}\n", "", "count", "perplexity") +
         row("tokens", s.tokens, s.perplexity(s.tokens)) +
         row("words", s.words, s.perplexity(s.words)) +
         row("bytes", s.bytes, s.perplexity(s.bytes)) +
         (s.unknown > 0
              ? fmt::format("{} {} <unk>, whose text the model does not know\n",
                            format_count(s.unknown), s.unknown == 1 ? "token is" : "tokens are")
              : "");
}

}  // namespace residual::cli
