#include "nn/batch.h"

#include <vector>

#include "base/error.h"
#include "text/vocabulary.h"

namespace residual::nn {
namespace {

using text::Vocabulary;

Tensor to_tensor(std::span<const int64_t> values, at::Device device) {
  Tensor made = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::ranges::copy(values, made.data_ptr<int64_t>());
  return made.to(device);
}

std::vector<int64_t> widened(std::span<const int32_t> values) {
  return {values.begin(), values.end()};
}

ops::Segments segments(const Sentences& sentences) { return {widened(sentences.offsets)}; }

// Positions within the sentence, from 0.
Tensor positions(const ops::Segments& segments, at::Device device) {
  std::vector<int64_t> places;
  for (int64_t s = 0; s < segments.count(); ++s) {
    for (int64_t i = 0; i < segments.length(s); ++i) places.push_back(i);
  }
  return to_tensor(places, device);
}

void set_source(ModelBatch& batch, const Sentences& source, at::Device device) {
  batch.sources = segments(source);
  batch.source = to_tensor(widened(source.ids), device);
  batch.source_positions = positions(batch.sources, device);
}

void set_target(ModelBatch& batch, const Sentences& target, at::Device device,
                int32_t start = Vocabulary::kEos) {
  batch.inputs = segments(target);
  std::vector<int64_t> shifted(target.ids.size());
  for (int64_t s = 0; s < batch.inputs.count(); ++s) {
    const int64_t begin = batch.inputs.offsets[s], end = batch.inputs.offsets[s + 1];
    for (int64_t i = begin; i < end; ++i) {
      shifted[i] = i == begin ? start : target.ids[i - 1];
    }
  }
  batch.input = to_tensor(shifted, device);
  batch.input_positions = positions(batch.inputs, device);
  batch.target = to_tensor(widened(target.ids), device);
}

}  // namespace

ModelBatch translation_batch(const Sentences& source, const Sentences& target, at::Device device) {
  require(source.offsets.size() == target.offsets.size(), "{} sources but {} targets",
          source.offsets.size() - 1, target.offsets.size() - 1);
  ModelBatch batch;
  set_source(batch, source, device);
  set_target(batch, target, device);
  return batch;
}

ModelBatch language_batch(const Sentences& text, at::Device device, int32_t start) {
  ModelBatch batch;
  set_target(batch, text, device, start);
  return batch;
}

ModelBatch masked_batch(const Sentences& text, int64_t symbols, double share, const Random& random,
                        at::Device device) {
  std::vector<int64_t> seen = widened(text.ids);
  std::vector<int64_t> selected, target;
  const auto hide = [&](size_t i) {
    selected.push_back(static_cast<int64_t>(i));
    target.push_back(text.ids[i]);
    const double how = random.uniform(3 * i + 1);
    if (how < 0.8) {
      seen[i] = Vocabulary::kBos;
    } else if (how < 0.9) {
      const auto others = static_cast<uint64_t>(symbols - Vocabulary::kSpecials);
      seen[i] = Vocabulary::kSpecials + static_cast<int64_t>(random.below(3 * i + 2, others));
    }
  };
  for (size_t i = 0; i < seen.size(); ++i) {
    if (random.uniform(3 * i) < share) hide(i);
  }
  if (selected.empty() && !seen.empty()) hide(random.below(3 * seen.size(), seen.size()));
  ModelBatch batch;
  set_source(batch, text, device);
  batch.source = to_tensor(seen, device);
  batch.target = to_tensor(target, device);
  batch.selected = to_tensor(selected, device);
  return batch;
}

}  // namespace residual::nn
