#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/batcher.h"
#include "data/prepared.h"
#include "model/directory.h"
#include "run/config.h"
#include "run/state.h"

namespace residual::run {

// The corpora of a prepared directory, loaded for training.
class Corpora {
 public:
  // Throws an Error if the directory is not prepared or has no training corpus, if its vocabularies
  // differ from those its corpora were made with, if a corpus has ids outside the model's tables,
  // if a text-processing file is missing or was changed, or if a corpus does not match its
  // checksums.
  explicit Corpora(const TrainConfig& config);

  // Returns the configuration with the vocabularies' sizes. Throws an Error if the sizes do not
  // allow its sharing.
  TrainConfig with_vocabularies(TrainConfig config) const;

  data::Batcher batcher(const TrainConfig& config) const;
  // Returns every dev pair that the model has positions for, in the order of the corpora, packed
  // into batches with about as many tokens per side as a worker passes through the model at once.
  std::vector<data::Batch> dev_batches(const TrainConfig& config) const;

  std::vector<data::PreparedCorpus> dev() const;
  void require_dev_text() const;  // throws an Error if a dev corpus has no raw text

  // Describes where a training batch's sentences come from:
  // "train en-de: lines 3, 17, 18 and 40 more".
  std::string lines_of(const data::Batch& batch, size_t most = SIZE_MAX) const;

  // The languages, tags and vocabularies to write into the model directory.
  model::Description description(const TrainConfig& config) const;
  const fs::path& directory() const { return directory_; }
  // The text-processing files by name, as read by the constructor. If the directory changes during
  // the run, the run's models still get the symbols that their corpora have.
  const std::map<std::string, std::string>& text_files() const { return text_; }
  text::Vocabulary vocabulary(const std::string& file) const;
  text::Segmenter segmenter(const std::string& language) const;
  // Fingerprints of the training and dev corpora, their languages, tags and vocabularies.
  std::string fingerprint() const { return fingerprint(train_); }
  std::string dev_fingerprint() const { return fingerprint(dev_); }
  // Throws an Error if the fingerprints differ from those in the checkpoint's state of the run at
  // `path`, because resuming would then compute a different run.
  void require_those_of(const State& state, const fs::path& path) const;

 private:
  struct Entry {
    data::PreparedCorpus prepared;
    std::unique_ptr<data::Corpus> corpus;
    std::vector<int32_t> source_prefix;
  };
  std::vector<Entry> open(const std::string& split) const;
  void check_ids(const Entry& entry, const TrainConfig& config) const;
  std::shared_ptr<data::SubwordDropout> subword_dropout(const TrainConfig& config,
                                                        const std::string& language) const;
  void read_text();
  void check_sums() const;
  static std::string fingerprint(const std::vector<Entry>& entries);

  fs::path directory_;
  data::Manifest manifest_;
  std::string source_vocabulary_, target_vocabulary_;  // files
  int64_t source_symbols_ = 0, target_symbols_ = 0;
  std::vector<Entry> train_, dev_;
  std::map<std::string, std::string> text_;
};

}  // namespace residual::run
