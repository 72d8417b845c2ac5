#pragma once

#include <vector>

#include "data/batcher.h"

namespace residual::train {

// Returns the number of parts of a batch: equally many for each worker, each of at most about
// `pass_tokens` target tokens (0: no limit).
int64_t shard_count(const data::Batch& batch, int64_t workers, int64_t pass_tokens);

// Cuts a batch by sentences into `count` parts of about equally many tokens; some are empty if
// there are fewer sentences. Sentences keep their order within a part. The cut depends only on the
// sentences' lengths.
std::vector<data::Batch> shards(const data::Batch& batch, int64_t count);

}  // namespace residual::train
