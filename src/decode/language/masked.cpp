#include "decode/language/masked.h"

#include <algorithm>

#include "base/error.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

constexpr int32_t kHidden = Vocabulary::kBos;  // as in training: nothing else uses it

}  // namespace

MaskedModel::MaskedModel(const std::shared_ptr<const Weights>& weights, const TextSide& side)
    : engine_(weights), codec_(side) {}

std::vector<int32_t> MaskedModel::ids_of(std::string_view text, uint64_t number) {
  std::vector<int32_t> ids;
  for (;;) {
    const size_t at = text.find(kMask);
    const auto part = codec_.ids(text.substr(0, at), "line", number);
    ids.insert(ids.end(), part.begin(), part.end());
    if (at == std::string_view::npos) break;
    ids.push_back(kHidden);
    text.remove_prefix(at + kMask.size());
  }
  ids.push_back(Vocabulary::kEos);
  const int64_t most = engine_.weights().config().max_positions;
  require(static_cast<int64_t>(ids.size()) <= most, "line {}: has {} tokens, the model takes {}",
          number, ids.size(), most);
  return ids;
}

std::vector<std::vector<int32_t>> MaskedModel::all_ids(std::span<const std::string> texts,
                                                       uint64_t first) {
  std::vector<std::vector<int32_t>> all;
  for (const auto& text : texts) all.push_back(ids_of(text, first + all.size()));
  return all;
}

std::vector<Filled> MaskedModel::fill(std::span<const std::string> texts, int64_t most,
                                      uint64_t first) {
  const auto all = all_ids(texts, first);
  const Rows rows = engine_.predictors(
      engine_.encode_rows(std::vector<std::span<const int32_t>>(all.begin(), all.end()), nullptr),
      nullptr);
  // The symbols that stand for no text are asked for too, and left out.
  const auto k = static_cast<int>(std::min<int64_t>(
      most + Vocabulary::kSpecials, engine_.weights().config().output_vocabulary()));
  std::vector<kernels::Scored> best(k);
  std::vector<Filled> filled;
  int64_t row = 0;
  for (const auto& ids : all) {
    Filled& made = filled.emplace_back();
    made.tokens = ids;
    made.tokens.pop_back();
    for (size_t i = 0; i < ids.size(); ++i, ++row) {
      if (ids[i] != kHidden) continue;
      kernels::RowSummary summary = {.k = k, .best = best.data()};
      engine_.summarise(rows, row, {&summary, 1}, nullptr);
      auto& guesses = made.guesses.emplace_back();
      for (const auto& each : std::span(best).first(summary.found)) {
        if (each.index < Vocabulary::kSpecials || std::ssize(guesses) == most) continue;
        guesses.push_back({each.index, each.value - summary.log_sum_exp()});
      }
      made.tokens[i] = guesses.at(0).token;
    }
    made.text = codec_.text(made.tokens);
  }
  engine_.weights().check();
  return filled;
}

std::vector<std::vector<float>> MaskedModel::embed(std::span<const std::string> texts,
                                                   uint64_t first) {
  const auto all = all_ids(texts, first);
  const Rows rows =
      engine_.encode_rows(std::vector<std::span<const int32_t>>(all.begin(), all.end()), nullptr);
  std::vector<std::vector<float>> means;
  const float* row = rows.data();
  for (const auto& ids : all) {
    std::vector<double> sum(rows.width());
    for (size_t i = 0; i + 1 < ids.size(); ++i, row += rows.width()) {
      for (int64_t j = 0; j < rows.width(); ++j) sum[j] += row[j];
    }
    row += rows.width();  // of </s>
    auto& mean = means.emplace_back();
    const auto count = static_cast<double>(std::max<size_t>(1, ids.size() - 1));
    for (const double value : sum) mean.push_back(static_cast<float>(value / count));
  }
  engine_.weights().check();
  return means;
}

}  // namespace residual::decode
