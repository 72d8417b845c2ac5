#include "metrics/multi_bleu.h"

#include <fmt/format.h>

namespace residual::metrics {
namespace {

constexpr std::string_view kAsciiSpace = " \t\n\v\f\r";

void split_ascii(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  for (size_t start = line.find_first_not_of(kAsciiSpace); start != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kAsciiSpace, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(kAsciiSpace, end);
  }
}

std::string precisions_of(const BleuScore& score) {
  return fmt::format("{:.1f}", fmt::join(score.precisions, "/"));
}

}  // namespace

Statistics MultiBleu::statistics(std::span<const std::string> hypotheses,
                                 const References& references) const {
  return bleu_statistics(hypotheses, references, 4,
                         [this](std::string_view line, bool is_reference, std::string& buffer,
                                std::vector<std::string_view>& words) {
                           if (options_.lowercase) {
                             buffer = line;
                             for (char& c : buffer) {
                               if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
                             }
                             line = buffer;
                           }
                           split_ascii(line, words);
                           if (!is_reference || !options_.unk_never_matches) return;
                           for (auto& word : words) {
                             if (word == "<unk>") word = "";
                           }
                         });
}

std::string MultiBleu::details(std::span<const double> sums) const {
  const BleuScore score = bleu_.bleu(sums);
  return fmt::format("{} (BP={:.3f}, ratio={:.3f}, hyp_len={}, ref_len={})", precisions_of(score),
                     score.brevity_penalty, score.ratio(), score.hypothesis_length,
                     score.reference_length);
}

std::string MultiBleu::line(std::span<const double> sums) const {
  const BleuScore score = bleu_.bleu(sums);
  if (score.reference_length == 0) {
    return "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)";
  }
  return fmt::format("BLEU = {:.2f}, {}", score.score, details(sums));
}

Signature MultiBleu::signature(size_t references, const Trials& trials) const {
  auto fields = make_signature(references, trials,
                               {{"case", "c", options_.lowercase ? "lc" : "mixed"},
                                {"tok", "tok", "none"},
                                {"smooth", "s", "none"},
                                {"unk", "u", options_.unk_never_matches ? "never" : "word"}})
                    .fields();
  fields.back() = {"as", "as", "multi-bleu.perl"};  // not a version of sacreBLEU
  return Signature(std::move(fields));
}

}  // namespace residual::metrics
