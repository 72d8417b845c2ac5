#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/engine.h"
#include "decode/language/text_side.h"

namespace residual::decode {

// What stands for one hidden piece in a text.
inline constexpr std::string_view kMask = "<mask>";

// What a masked model puts in the place of one mask.
struct Guess {
  int32_t token;
  float log_probability;
};

struct Filled {
  std::string text;  // with the likeliest piece at each mask
  std::vector<int32_t> tokens;
  std::vector<std::vector<Guess>> guesses;  // of each mask, likeliest first
};

// A masked model at work in one thread. A text's result depends on the text alone.
class MaskedModel {
 public:
  MaskedModel(const std::shared_ptr<const Weights>& weights, const TextSide& side);

  // Up to `most` guesses for every mask of each text. All masks of a text are guessed at once, each
  // by itself. Errors name the text, counted from `first`.
  std::vector<Filled> fill(std::span<const std::string> texts, int64_t most, uint64_t first = 1);
  // The mean of the encoder's rows of a text's pieces, without that of </s>: [width]. An empty text
  // has zeros.
  std::vector<std::vector<float>> embed(std::span<const std::string> texts, uint64_t first = 1);

 private:
  // The ids of a text, </s> included, with <s> at each mask.
  std::vector<int32_t> ids_of(std::string_view text, uint64_t number);
  std::vector<std::vector<int32_t>> all_ids(std::span<const std::string> texts, uint64_t first);

  Engine engine_;
  TextCodec codec_;
};

}  // namespace residual::decode
