#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/composition.h"
#include "data/corpus.h"
#include "data/sampler.h"
#include "data/subword_dropout.h"

namespace residual::data {

// Sentence pairs of one corpus, rows without padding: sentence i of the source is
// source[source_offsets[i], source_offsets[i + 1]), its language tag first, EOS last.
struct Batch {
  std::vector<int32_t> source, target;
  std::vector<int32_t> source_offsets, target_offsets;  // one more than there are sentences
  std::vector<int64_t> pairs;                           // their places in the corpus
  int corpus = 0;                                       // which of the batcher's inputs

  int64_t size() const { return static_cast<int64_t>(pairs.size()); }
};

struct BatchOptions {
  // Tokens of a batch, EOS and tags included: at most so many on the source side and at most so
  // many on the target side. With fairseq's composition: sentences times longest side.
  int64_t max_tokens = 4096;
  int64_t max_sentences = 0;                     // 0: any number
  int64_t max_source = 1024, max_target = 1024;  // longer pairs are left out
  uint64_t seed = 1;
  // "residual": pairs of similar length, grouped anew every epoch.
  // "fairseq": exactly fairseq 0.12.2's batches; fixed for the run, only their order changes.
  std::string composition = "residual";
  int64_t sentence_multiple = 8;  // fairseq's required_batch_size_multiple
  Temperature temperature;        // of a mixture of corpora
};

// One corpus of a mixture. It must outlive the batcher.
struct BatchInput {
  const Corpus* corpus;
  std::vector<int32_t> source_prefix;  // ids put before every source sentence: a language tag
  // Segment its sentences anew in every epoch; null: they stay. Batches are made of pairs by their
  // lengths without it, and may have more tokens than their limit by as many as it adds.
  std::shared_ptr<SubwordDropout> source_dropout, target_dropout;
};

// All that is needed to continue: what is next. Epochs count from 1, batches from 0.
struct BatchPosition {
  int64_t epoch = 1;
  int64_t batch = 0;
  bool operator==(const BatchPosition&) const = default;
};

// The batches of a training run, a pure function of corpora, options and position.
//
// An epoch takes as many pairs as all corpora have together. From one corpus, or several at
// temperature 1, it takes every pair exactly once. Otherwise corpus i gives the share of
// sampler.h: it is gone through in passes, each a fresh shuffle that contains every pair once, and
// an epoch continues where the one before stopped. Since batches are not cut, a share is met to
// within one batch; the next epoch makes up for it.
//
// Memory: 4 bytes per pair of the epoch, and as much for the largest corpus while an epoch of a
// mixture is laid out. Not for use from several threads at once.
class Batcher {
 public:
  Batcher(std::vector<BatchInput> inputs, BatchOptions options);

  int64_t batches_in_epoch(int64_t epoch);
  Batch get(BatchPosition position);

  // The endless stream: epoch after epoch. Seeking within an epoch costs nothing, to another one
  // as much as laying it out, wherever the position is.
  Batch next();
  BatchPosition position();  // of what next() will give
  void seek(BatchPosition position);

  int64_t kept(size_t input) const { return kept_[input]; }  // pairs within the limits
  int64_t skipped(size_t input) const { return inputs_[input].corpus->size() - kept_[input]; }

 private:
  struct Planned {
    uint64_t begin;  // in pairs_
    uint32_t size;
    uint32_t corpus;
  };

  BatchLimits limits(size_t input) const;
  int64_t count_kept(size_t input) const;
  void append(const Planned& planned, int64_t epoch, int64_t pair, Batch& batch) const;
  void plan(int64_t epoch);
  void plan_mixture(int64_t epoch);
  void plan_pass(size_t input, int64_t pass, int64_t from, int64_t to);
  void plan_as_fairseq(int64_t epoch);

  std::vector<BatchInput> inputs_;
  BatchOptions options_;
  std::vector<int64_t> kept_;
  BatchPosition position_;
  int64_t planned_epoch_ = 0;
  std::vector<uint32_t> pairs_;   // of the planned epoch, batch by batch
  std::vector<Planned> batches_;  // in the order of the epoch
  Composition fairseq_;           // only with that composition
};

}  // namespace residual::data
