#include "train/ranks/stages.h"

#include <algorithm>

namespace residual::train {
namespace {

using schemes::Side;

int blocks_of(const model::Config& config, Side side) {
  const bool exists = side == Side::encoder ? config.has_encoder() : config.has_decoder();
  return exists ? model::stack(config, side).blocks() : 0;
}

}  // namespace

int stage_of_parameter(const model::Config& config, const std::string& parameter) {
  for (const Side side : {Side::encoder, Side::decoder}) {
    for (int k = 0; k < blocks_of(config, side); ++k) {
      if (parameter.starts_with(model::block_name(config, side, k) + ".")) {
        return stage_of_block(config, side, k);
      }
    }
  }
  return last_stage(config);
}

int stage_of_block(const model::Config& config, Side side, int k) {
  const int above = side == Side::encoder ? blocks_of(config, Side::decoder) : 0;
  return above + blocks_of(config, side) - k;
}

int last_stage(const model::Config& config) {
  return blocks_of(config, Side::encoder) + blocks_of(config, Side::decoder) + 1;
}

std::vector<int> bucket_stages(const nn::Parameters& parameters, const Slices& slices) {
  std::vector<int> stages(slices.buckets());
  const auto& list = parameters.list();
  for (size_t i = 0; i < list.size(); ++i) {
    const int stage = stage_of_parameter(parameters.config(), list[i].name);
    const auto begin = static_cast<size_t>(parameters.offset(i));
    const auto end = begin + static_cast<size_t>(list[i].size());
    for (size_t b = 0; b < slices.buckets(); ++b) {
      const Slices::Range bucket = slices.bucket(b);
      if (begin < bucket.end && bucket.begin < end) stages[b] = std::max(stages[b], stage);
    }
  }
  return stages;
}

}  // namespace residual::train
