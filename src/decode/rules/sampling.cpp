#include "decode/rules/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/checksum.h"
#include "base/random.h"
#include "kernels/vocabulary.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

constexpr float kNever = -std::numeric_limits<float>::infinity();

uint64_t key_of(const std::vector<int32_t>& tokens) {
  return checksum({reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t)});
}

}  // namespace

void Sampler::sample(Outlook& outlook, Candidates& candidates) {
  const Sentence& s = outlook.sentence();
  const Sampling& sampling = s.options().sampling;
  const Random random(static_cast<uint64_t>(sampling.seed),
                      key_of(s.request.is_text() ? s.request.prefix : s.request.source));
  const auto draw_one = [&](int h, int32_t number) {
    // The first hypothesis stands for all draws, and draw() overwrites: each takes a copy.
    const auto row = outlook.logits(h);
    row_.assign(row.begin(), row.end());
    const auto place = static_cast<uint64_t>(s.length * s.options().beam + number);
    const TokenChoice choice = draw(row_.data(), sampling, outlook.forbidden(h),
                                    s.restrictions.unk_penalty(), random.uniform(place));
    candidates.push_back({.score = outlook.score(h) + choice.log_probability,
                          .parent = h,
                          .lane = number,
                          .choice = choice});
  };
  if (s.is_split) {
    for (int h = 0; h < outlook.hypotheses(); ++h) draw_one(h, s.live[h].lane);
  } else {
    for (int32_t number = 0; number < s.options().beam; ++number) draw_one(0, number);
  }
}

TokenChoice Sampler::draw(float* logits, const Sampling& sampling,
                          std::span<const int32_t> forbidden, double unk_penalty, double uniform) {
  const float normaliser = kernels::log_sum_exp(logits, vocabulary_);
  require_number(normaliser);
  if (unk_penalty != 0) logits[Vocabulary::kUnk] -= static_cast<float>(unk_penalty);
  const float end = logits[Vocabulary::kEos];
  for (const int32_t token : forbidden) logits[token] = kNever;

  choices_.clear();
  for (int32_t token = 0; token < vocabulary_; ++token) {
    if (logits[token] != kNever) choices_.push_back({token, logits[token] - normaliser});
  }
  if (choices_.empty()) return {Vocabulary::kEos, end - normaliser};
  const bool is_cut = sampling.top_k > 0 || sampling.top_p < 1;
  if (is_cut) {
    std::ranges::stable_sort(choices_, std::greater<>(), &TokenChoice::log_probability);
    if (sampling.top_k > 0) {
      choices_.resize(std::min(choices_.size(), static_cast<size_t>(sampling.top_k)));
    }
  }
  const float top = std::ranges::max(choices_, {}, &TokenChoice::log_probability).log_probability;
  const auto weight = [&](const TokenChoice& c) {
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
  return choices_.back();  // the sum was rounded up
}

}  // namespace residual::decode
