#include "decode/rules/choose.h"

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

}  // namespace

void require_number(float normaliser) {
  require(!std::isnan(normaliser),
          "the model's output is not a number; its weights are damaged or did not converge");
}

std::span<const TokenChoice> Chooser::likeliest(float* logits, int64_t k,
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
  allowed(best_, normaliser, k, forbidden);
  for (const int32_t token : also) {
    const auto is_token = [&](const TokenChoice& choice) { return choice.token == token; };
    if (std::ranges::any_of(choices_, is_token)) continue;
    choices_.push_back({token, logits[token] - normaliser - penalty(token)});
  }
  return choices_;
}

std::span<const TokenChoice> Chooser::likeliest(const kernels::RowSummary& row, int64_t k,
                                                std::span<const int32_t> forbidden) {
  return allowed({row.best, static_cast<size_t>(row.found)}, row.log_sum_exp(), k, forbidden);
}

std::span<const TokenChoice> Chooser::allowed(std::span<const kernels::Scored> best,
                                              float normaliser, int64_t k,
                                              std::span<const int32_t> forbidden) {
  require_number(normaliser);
  choices_.clear();
  for (const auto& [value, token] : best) {
    if (std::ranges::count(forbidden, token) > 0) continue;
    choices_.push_back({token, value - normaliser - penalty(token)});
  }
  if (unk_penalty_ != 0) {
    std::ranges::stable_sort(choices_, std::greater<>(), &TokenChoice::log_probability);
  }
  if (static_cast<int64_t>(choices_.size()) > k) choices_.resize(k);
  return choices_;
}

TokenChoice Chooser::given(const float* logits, int32_t token) const {
  const float normaliser = kernels::log_sum_exp(logits, vocabulary_);
  require_number(normaliser);
  return {token, logits[token] - normaliser - penalty(token)};
}

TokenChoice Chooser::given(const kernels::RowSummary& row) const {
  const float normaliser = row.log_sum_exp();
  require_number(normaliser);
  return {row.asked.index, row.asked.value - normaliser - penalty(row.asked.index)};
}

float Chooser::penalty(int32_t token) const {
  return token == text::Vocabulary::kUnk ? unk_penalty_ : 0;
}

}  // namespace residual::decode
