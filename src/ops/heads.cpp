#include "ops/heads.h"

namespace residual::ops {

Tensor rotate(const Tensor& x, const Tensor& turns) {
  const int64_t rows = x.size(0), width = turns.size(1), half = width / 2;
  const int64_t heads = x.size(1) / width;
  const Tensor pairs = x.reshape({rows, heads, 2, half});
  const Tensor a = pairs.select(2, 0), b = pairs.select(2, 1);
  const Tensor cosines = turns.narrow(1, 0, half).unsqueeze(1);
  const Tensor sines = turns.narrow(1, half, half).unsqueeze(1);
  return at::stack({a * cosines - b * sines, b * cosines + a * sines}, 2)
      .reshape({rows, heads * width});
}

Tensor repeat_heads(const Tensor& x, int64_t heads, int64_t times) {
  if (times == 1) return x;
  const int64_t rows = x.size(0), width = x.size(1) / heads;
  return x.reshape({rows, heads, 1, width})
      .expand({rows, heads, times, width})
      .reshape({rows, heads * times * width});
}

}  // namespace residual::ops
