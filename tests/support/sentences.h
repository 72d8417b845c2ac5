#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "text/vocabulary.h"

namespace residual::test {

// `length` tokens that are not special, then </s>.
inline std::vector<int32_t> random_sentence(uint64_t seed, uint64_t length,
                                            uint64_t vocabulary = 50) {
  const Random random(seed, 0x5e17);
  std::vector<int32_t> tokens;
  for (uint64_t i = 0; i < length; ++i) {
    const auto id = random.below(i, vocabulary - text::Vocabulary::kSpecials);
    tokens.push_back(static_cast<int32_t>(id) + text::Vocabulary::kSpecials);
  }
  tokens.push_back(text::Vocabulary::kEos);
  return tokens;
}

}  // namespace residual::test
