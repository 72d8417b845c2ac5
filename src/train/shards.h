#pragma once

#include <vector>

#include "data/batcher.h"

namespace residual::train {

// A batch cut into `count` parts by sentences, with about equally many tokens each; some are empty
// if there are fewer sentences. Sentences keep their order within a part. A function of the
// sentences' lengths alone.
std::vector<data::Batch> shards(const data::Batch& batch, int64_t count);

}  // namespace residual::train
