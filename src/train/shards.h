#pragma once

#include <vector>

#include "data/batcher.h"

namespace residual::train {

// How many parts a batch is cut into: as many for each worker, of at most about `pass_tokens`
// target tokens (0: any number).
int64_t shard_count(const data::Batch& batch, int64_t workers, int64_t pass_tokens);

// A batch cut into `count` parts by sentences, with about equally many tokens each; some are empty
// if there are fewer sentences. Sentences keep their order within a part. A function of the
// sentences' lengths alone.
std::vector<data::Batch> shards(const data::Batch& batch, int64_t count);

}  // namespace residual::train
