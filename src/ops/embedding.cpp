#include "ops/embedding.h"

#include <cmath>

namespace residual::ops::reference {

Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& d) {
  const double scale = std::sqrt(static_cast<double>(embedding.size(1)));
  return dropout(at::embedding(embedding, ids) * scale + table.index_select(0, positions), d);
}

}  // namespace residual::ops::reference
