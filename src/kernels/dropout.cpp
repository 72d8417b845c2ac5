#include "kernels/dropout.h"

#include "base/random.h"

namespace residual::kernels {

void dropout_factors(const Dropout& dropout, int64_t begin, int64_t count, float* factors) {
  constexpr int64_t kPerBlock = 8;
  const PhiloxKey key = {static_cast<uint32_t>(dropout.key),
                         static_cast<uint32_t>(dropout.key >> 32)};
  const uint32_t threshold = dropout.threshold();
  const float scale = dropout.kept_scale();
  const int64_t end = begin + count;
  for (int64_t i = begin; i < end;) {
    const auto block = static_cast<uint64_t>(i / kPerBlock);
    const Philox4 bits =
        philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}, key);
    for (int64_t j = i % kPerBlock; j < kPerBlock && i < end; ++j, ++i) {
      const uint32_t random = (bits[j / 2] >> (16 * (j % 2))) & 0xFFFF;
      *factors++ = random < threshold ? 0 : scale;
    }
  }
}

}  // namespace residual::kernels
