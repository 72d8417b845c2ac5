#include "decode/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void require_number(float normaliser) {
  require(!std::isnan(normaliser),
          "the model's output is not a number; its weights are damaged or did not converge");
}

}  // namespace

std::span<const Choice> Chooser::likeliest(float* logits, int64_t k,
                                           std::span<const int32_t> forbidden,
                                           std::span<const int32_t> also) {
  // Those that are forbidden may be among the best, and <unk> may fall behind by its penalty.
  const int64_t spare = static_cast<int64_t>(forbidden.size()) + (unk_penalty_ != 0 ? 1 : 0);
  const bool is_roomy = k + spare <= kernels::kMostBest;
  float normaliser = 0;
  std::vector<float> hidden;  // logits of the forbidden, while they are not to be found
  if (!is_roomy) {
    normaliser = kernels::log_sum_exp(logits, vocabulary_);
    for (const int32_t token : forbidden) hidden.push_back(std::exchange(logits[token], kNever));
  }
  const auto asked =
      std::min<int64_t>({is_roomy ? k + spare : k + 1, vocabulary_, kernels::kMostBest});
  best_.resize(asked);
  const float sum =
      kernels::best_of_row(logits, vocabulary_, static_cast<int>(asked), best_.data());
  if (is_roomy) normaliser = sum;
  for (size_t i = hidden.size(); i-- > 0;) logits[forbidden[i]] = hidden[i];
  const auto is_unk = [](const kernels::Scored& s) { return s.index == text::Vocabulary::kUnk; };
  if (unk_penalty_ < 0 && std::ranges::none_of(best_, is_unk)) {  // it may come before others
    best_.push_back({logits[text::Vocabulary::kUnk], text::Vocabulary::kUnk});
  }
  rank(best_, normaliser, k, forbidden);
  for (const int32_t token : also) {
    const auto is_token = [&](const Choice& choice) { return choice.token == token; };
    if (std::ranges::any_of(choices_, is_token)) continue;
    choices_.push_back({token, logits[token] - normaliser - penalty(token)});
  }
  return choices_;
}

std::span<const Choice> Chooser::likeliest(const kernels::RowSummary& row, int64_t k,
                                           std::span<const int32_t> forbidden) {
  return rank({row.best, static_cast<size_t>(row.found)}, row.log_sum_exp(), k, forbidden);
}

std::span<const Choice> Chooser::rank(std::span<const kernels::Scored> best, float normaliser,
                                      int64_t k, std::span<const int32_t> forbidden) {
  require_number(normaliser);
  choices_.clear();
  for (const auto& [value, token] : best) {
    if (std::ranges::count(forbidden, token) > 0) continue;
    choices_.push_back({token, value - normaliser - penalty(token)});
  }
  if (unk_penalty_ != 0) {
    std::ranges::stable_sort(choices_, std::greater<>(), &Choice::log_probability);
  }
  if (static_cast<int64_t>(choices_.size()) > k) choices_.resize(k);
  return choices_;
}

Choice Chooser::given(const float* logits, int32_t token) const {
  const float normaliser = kernels::log_sum_exp(logits, vocabulary_);
  require_number(normaliser);
  return {token, logits[token] - normaliser - penalty(token)};
}

Choice Chooser::given(const kernels::RowSummary& row) const {
  const float normaliser = row.log_sum_exp();
  require_number(normaliser);
  return {row.asked.index, row.asked.value - normaliser - penalty(row.asked.index)};
}

float Chooser::penalty(int32_t token) const {
  return token == text::Vocabulary::kUnk ? unk_penalty_ : 0;
}

Choice Chooser::draw(float* logits, const Sampling& sampling, std::span<const int32_t> forbidden,
                     double uniform) {
  const float normaliser = kernels::log_sum_exp(logits, vocabulary_);
  require_number(normaliser);
  if (unk_penalty_ != 0) logits[text::Vocabulary::kUnk] -= unk_penalty_;
  const float end = logits[text::Vocabulary::kEos];
  for (const int32_t token : forbidden) logits[token] = kNever;

  choices_.clear();
  for (int32_t token = 0; token < vocabulary_; ++token) {
    if (logits[token] != kNever) choices_.push_back({token, logits[token] - normaliser});
  }
  if (choices_.empty()) return {text::Vocabulary::kEos, end - normaliser};
  const bool is_cut = sampling.top_k > 0 || sampling.top_p < 1;
  if (is_cut) {
    std::ranges::stable_sort(choices_, std::greater<>(), &Choice::log_probability);
    if (sampling.top_k > 0) {
      choices_.resize(std::min(choices_.size(), static_cast<size_t>(sampling.top_k)));
    }
  }
  const float top = std::ranges::max(choices_, {}, &Choice::log_probability).log_probability;
  const auto weight = [&](const Choice& c) {
    return std::exp((c.log_probability - top) / sampling.temperature);
  };
  double total = 0;
  for (const auto& choice : choices_) total += weight(choice);
  if (sampling.top_p < 1) {
    double kept = 0;
    size_t count = 0;
    while (count < choices_.size() && kept < sampling.top_p * total) {
      kept += weight(choices_[count++]);
    }
    choices_.resize(count);
    total = kept;
  }
  double left = uniform * total;
  for (const auto& choice : choices_) {
    left -= weight(choice);
    if (left < 0) return choice;
  }
  return choices_.back();  // rounding left a crumb
}

}  // namespace residual::decode
