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

// The corpora of a prepared directory as training needs them.
class Corpora {
 public:
  // An Error if the directory is not prepared, has no training corpus, its vocabularies are not
  // those its corpora were made with, a corpus has ids that a model's tables would not have, or a
  // file of text processing is missing or not the one that was prepared.
  explicit Corpora(const TrainConfig& config);

  // The configuration with the vocabularies' sizes. An Error if they do not fit its sharing.
  TrainConfig with_vocabularies(TrainConfig config) const;

  data::Batcher batcher(const TrainConfig& config) const;
  // Every pair of every dev corpus that the model has positions for, in the order of the corpora,
  // packed into batches of about as many tokens a side as a worker passes at a time.
  std::vector<data::Batch> dev_batches(const TrainConfig& config) const;

  std::vector<data::PreparedCorpus> dev() const;
  void require_dev_text() const;  // an Error if a dev corpus comes without its raw lines

  // "train en-de: lines 3, 17, 18 and 40 more": where a training batch's sentences come from.
  std::string lines_of(const data::Batch& batch, size_t most = SIZE_MAX) const;

  // For the model directory: languages, tags, vocabularies.
  model::Description description(const TrainConfig& config) const;
  const fs::path& directory() const { return directory_; }
  // The files of text processing, by name, as they were when this was made: whatever becomes of the
  // directory, the models of a run keep the symbols that their corpora have.
  const std::map<std::string, std::string>& text_files() const { return text_; }
  text::Vocabulary vocabulary(const std::string& file) const;
  text::Segmenter segmenter(const std::string& language) const;
  // Checksums of the training and of the dev corpora, their languages, tags and vocabularies.
  std::string fingerprint() const { return fingerprint(train_); }
  std::string dev_fingerprint() const { return fingerprint(dev_); }
  // An Error if they are not those of the run at `path`, by the state of its checkpoint: going on
  // would make another run of it.
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
  static std::string fingerprint(const std::vector<Entry>& entries);

  fs::path directory_;
  data::Manifest manifest_;
  std::string source_vocabulary_, target_vocabulary_;  // files
  int64_t source_symbols_ = 0, target_symbols_ = 0;
  std::vector<Entry> train_, dev_;
  std::map<std::string, std::string> text_;
};

}  // namespace residual::run
