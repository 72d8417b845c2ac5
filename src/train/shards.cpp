#include "train/shards.h"

#include <algorithm>
#include <numeric>

namespace residual::train {
namespace {

void append_sentence(const data::Batch& from, size_t sentence, data::Batch& to) {
  const auto copy = [sentence](const std::vector<int32_t>& ids, const std::vector<int32_t>& offsets,
                               std::vector<int32_t>& out, std::vector<int32_t>& out_offsets) {
    out.insert(out.end(), ids.begin() + offsets[sentence], ids.begin() + offsets[sentence + 1]);
    out_offsets.push_back(static_cast<int32_t>(out.size()));
  };
  copy(from.source, from.source_offsets, to.source, to.source_offsets);
  copy(from.target, from.target_offsets, to.target, to.target_offsets);
  to.pairs.push_back(from.pairs[sentence]);
}

}  // namespace

int64_t shard_count(const data::Batch& batch, int64_t workers, int64_t pass_tokens) {
  if (pass_tokens == 0) return workers;
  const auto tokens = static_cast<int64_t>(batch.target.size());
  const int64_t of_all_workers = workers * pass_tokens;
  return workers * std::max<int64_t>(1, (tokens + of_all_workers - 1) / of_all_workers);
}

// Assigns the longest sentences first, each to the part with the fewest tokens so far.
std::vector<data::Batch> shards(const data::Batch& batch, int64_t count) {
  const auto sentences = static_cast<size_t>(batch.size());
  const auto tokens = [&](size_t s) {
    return batch.source_offsets[s + 1] - batch.source_offsets[s] + batch.target_offsets[s + 1] -
           batch.target_offsets[s];
  };
  std::vector<size_t> order(sentences);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, tokens);
  std::vector<int64_t> load(static_cast<size_t>(count));
  std::vector<size_t> owner(sentences);
  for (const size_t s : order) {
    const auto lightest = std::ranges::min_element(load);
    *lightest += tokens(s);
    owner[s] = static_cast<size_t>(lightest - load.begin());
  }
  const data::Batch empty{
      .source_offsets = {0}, .target_offsets = {0}, .pairs = {}, .corpus = batch.corpus};
  std::vector<data::Batch> parts(static_cast<size_t>(count), empty);
  for (size_t s = 0; s < sentences; ++s) append_sentence(batch, s, parts[owner[s]]);
  return parts;
}

}  // namespace residual::train
