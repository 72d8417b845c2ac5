#pragma once

#include <memory>
#include <optional>
#include <span>
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
#include "train/ranks/peers.h"
#include "train/scaler.h"

namespace residual::train {

// An amount of work and the time it took.
struct Pace {
  run::Sums sums;
  double seconds = 0;
};

enum class End { finished, patience, interrupted };

// The training loop: updates, metrics, validation, checkpoints. Its results depend only on
// configuration and corpus. A run that is killed and resumed, any number of times and in any number
// of processes, ends with the same bytes in its checkpoint and metrics.jsonl as an uninterrupted
// one.
class Trainer {
 public:
  // Starts the run, or resumes it from its newest sound checkpoint if it has one. Of several
  // processes, the leading one writes the run's files and messages. `peers` must outlive the
  // trainer.
  explicit Trainer(run::RunDirectory& run, FileSystem& system = FileSystem::real(),
                   const Peers& peers = Peers::alone());
  // A process that does not lead; it receives parameters and state from the leading one.
  Trainer(const run::TrainConfig& config, const Peers& peers);

  // Trains until the end or a signal. Errors of writing and of memory include advice.
  End run(const run::StopSignals& signals);

  // Passes every further update to the observer, which must outlive the run.
  void observe(Observer& observer) {
    observer_ = &observer;
    observed_every_ = observer.every();
  }
  // The same in a process that does not lead: what an observer needs comes from all processes.
  void observed_every(int64_t updates) { observed_every_ = updates; }

  const run::State& state() const { return state_; }
  int signal() const { return signal_; }  // signal that ended the run in one of the processes; or 0

 private:
  struct Step {
    bool updated;  // false: skipped, because it was not finite
    bool epoch_ended;
  };

  Trainer(run::RunDirectory* run, const run::TrainConfig& config, FileSystem& system,
          const Peers& peers);
  run::Checkpoint open_run(data::Batcher& batcher);
  run::Checkpoint first_values(data::Batcher& batcher);
  void check_alike() const;
  void spread_start();
  int agree(const run::StopSignals& signals) const;
  void part() const;
  std::string resuming() const;
  std::string with_command(const PeerLost& lost) const;
  void observe_update();
  End run_explained(const run::StopSignals& signals);
  End run_loop(const run::StopSignals& signals);
  void save_and_stop();
  bool finished() const;
  bool out_of_patience() const;
  Step step();
  void nonfinite(std::span<const data::Batch> batches, int64_t number);
  [[noreturn]] void stop_nonfinite(std::span<const data::Batch> batches, int64_t number,
                                   const std::string& advice);
  double rate_after(int64_t updates) const;  // learning rate of the next update
  run::Status status() const;
  void log_metrics();
  bool validation_due(const Step& step) const;
  bool checkpoint_due(const Step& step) const;
  void note_epoch_end();  // called before its checkpoint is saved
  run::Rank validate();
  double dev_bleu(std::span<const float> model);
  void write_report();
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
  std::optional<run::CheckpointStore> store_;  // checkpoints of the run
  run::State state_;
  std::unique_ptr<BatchStream> stream_;
  run::RunLog log_;  // writes nothing in processes that do not lead
  Background background_;
  Observer* observer_ = nullptr;
  int64_t observed_every_ = 0;
  std::string resuming_;  // process 0's command, in the others
  int signal_ = 0;

  // Values for the display.
  double gradient_norm_ = 0;  // norm of the last update
  double epoch_done_ = 0;
  Pace session_, line_;  // since the start or resume, and since the last line
};

}  // namespace residual::train
