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

// Sentence pairs of one corpus, in rows without padding. Sentence i of the source is
// source[source_offsets[i], source_offsets[i + 1]), with its language tag first and EOS last.
struct Batch {
  std::vector<int32_t> source, target;
  std::vector<int32_t> source_offsets, target_offsets;  // number of sentences + 1
  std::vector<int64_t> pairs;                           // indices of the pairs in the corpus
  int corpus = 0;                                       // index of the batcher's input

  int64_t size() const { return static_cast<int64_t>(pairs.size()); }
};

struct BatchOptions {
  // The most tokens of a batch on the source side, and on the target side, EOS and tags included.
  // With fairseq's composition, the most of sentences times longest side.
  int64_t max_tokens = 4096;
  int64_t max_sentences = 0;                     // 0: no limit
  int64_t max_source = 1024, max_target = 1024;  // longer pairs are skipped
  uint64_t seed = 1;
  Composition composition = Composition::residual;
  int64_t sentence_multiple = 8;  // fairseq's required_batch_size_multiple
  Temperature temperature;        // temperature of a mixture of corpora
};

// One corpus of a mixture. It must outlive the batcher.
struct BatchInput {
  const Corpus* corpus;
  std::vector<int32_t> source_prefix;  // ids put before every source sentence: a language tag
  // BPE-dropout that segments the sentences again in every epoch; null: no dropout. Batches are
  // formed by the lengths without dropout, so they may exceed the token limit by the tokens that it
  // adds.
  std::shared_ptr<SubwordDropout> source_dropout, target_dropout;
};

// The next batch, which is all the state needed to continue. Epochs count from 1, batches from 0.
struct BatchPosition {
  int64_t epoch = 1;
  int64_t batch = 0;
  bool operator==(const BatchPosition&) const = default;
};

// The batches of a training run, a pure function of corpora, options and position.
//
// An epoch takes as many pairs as all corpora have together. From one corpus, or from several at
// temperature 1, it takes every pair exactly once. Otherwise corpus i gives the share of sampler.h:
// the batcher goes through it in passes, each a new shuffle that contains every pair once, and an
// epoch continues where the previous one stopped. Since batches are not cut, a share is met to
// within one batch; the next epoch makes up for the difference.
//
// Memory: 4 bytes per pair of the epoch, and the same for the largest corpus while an epoch of a
// mixture is planned. A batcher is not thread-safe.
class Batcher {
 public:
  Batcher(std::vector<BatchInput> inputs, BatchOptions options);

  int64_t batches_in_epoch(int64_t epoch);
  Batch get(BatchPosition position);

  // next() gives an endless stream, epoch after epoch. Seeking within an epoch is free; seeking to
  // any other epoch costs as much as planning that epoch.
  Batch next();
  BatchPosition position();  // position of the batch that next() returns
  void seek(BatchPosition position);

  int64_t kept(size_t input) const { return kept_[input]; }  // number of pairs within the limits
  int64_t skipped(size_t input) const { return inputs_[input].corpus->size() - kept_[input]; }

 private:
  struct Planned {
    uint64_t begin;  // index in pairs_
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
  std::vector<uint32_t> pairs_;   // pairs of the planned epoch, batch by batch
  std::vector<Planned> batches_;  // in the order of the epoch
  Grouping fairseq_;              // used only with that composition
};

}  // namespace residual::data
