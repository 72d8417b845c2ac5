#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/files.h"
#include "run/checkpoint.h"
#include "run/corpora.h"
#include "run/run_directory.h"
#include "run/run_log.h"
#include "run/signals.h"
#include "run/validation.h"
#include "train/background.h"
#include "train/batch_stream.h"
#include "train/bleu.h"
#include "train/learner.h"
#include "train/observer.h"
#include "train/peers.h"
#include "train/scaler.h"

namespace residual::train {

// Work done and the time it took.
struct Pace {
  run::Sums sums;
  double seconds = 0;
};

enum class End { finished, patience, interrupted };

// The loop: updates, metrics, validation, checkpoints. All that it computes follows from
// configuration and corpus; a run that is killed and resumed, however often and in however many
// processes, ends with the same bytes in its checkpoint and in metrics.jsonl as one that was not.
class Trainer {
 public:
  // Starts the run, or continues it from its newest sound checkpoint if it has one. Of several
  // processes the one that leads writes the run's files and speaks; `peers` must outlive it.
  explicit Trainer(run::RunDirectory& run, FileSystem& system = FileSystem::real(),
                   const Peers& peers = Peers::alone());
  // One that does not lead: has the parameters and the state of the one that does.
  Trainer(const run::TrainConfig& config, const Peers& peers);

  // Until the end, or until a signal. Errors of writing and of memory say what to do.
  End run(const run::StopSignals& signals);

  // Shows it every update from now on; it must outlive the run.
  void observe(Observer& observer) { observer_ = &observer; }

  const run::State& state() const { return state_; }
  int signal() const { return signal_; }  // that ended the run, in one of the processes; or 0

 private:
  struct Step {
    bool updated;  // false: left out, since it was not finite
    bool epoch_ended;
  };

  Trainer(run::RunDirectory* run, const run::TrainConfig& config, FileSystem& system,
          const Peers& peers);
  void open_run(data::Batcher& batcher);
  void begin(data::Batcher& batcher);
  void check_alike() const;
  void spread_start();
  int agree(const run::StopSignals& signals) const;
  void part() const;
  std::string resuming() const;
  End run_explained(const run::StopSignals& signals);
  End run_loop(const run::StopSignals& signals);
  void save_and_stop();
  bool finished() const;
  bool out_of_patience() const;
  Step step();
  void nonfinite(std::span<const data::Batch> batches, int64_t number);
  [[noreturn]] void stop_nonfinite(std::span<const data::Batch> batches, int64_t number,
                                   const std::string& advice);
  double rate_after(int64_t updates) const;  // learning rate of the update after so many
  run::Status status() const;
  void log_metrics();
  bool validation_due(const Step& step) const;
  bool checkpoint_due(const Step& step) const;
  void note_epoch_end();  // of which a checkpoint is about to be saved
  run::Rank validate();
  void save(bool best);
  void write_model(const fs::path& path, const run::Checkpoint& checkpoint) const;

  run::RunDirectory* run_;  // null in processes that do not lead
  FileSystem& system_;
  const Peers& peers_;
  run::TrainConfig config_;
  run::Corpora corpora_;
  std::vector<data::Batch> dev_;
  std::optional<DevBleu> bleu_;
  std::unique_ptr<Learner> learner_;
  LossScaler scaler_;
  std::optional<run::CheckpointStore> store_;  // the run's
  run::State state_;
  std::unique_ptr<BatchStream> stream_;
  run::RunLog log_;  // of processes that do not lead: tells nobody
  Background background_;
  Observer* observer_ = nullptr;
  int signal_ = 0;

  // For the display.
  double gradient_norm_ = 0;  // of the last update
  double epoch_done_ = 0;
  Pace session_, line_;  // since the start or resume, and since the last line
};

}  // namespace residual::train
