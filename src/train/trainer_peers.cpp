// The agreement between the processes of one run.

#include <algorithm>
#include <bit>

#include "base/checksum.h"
#include "base/error.h"
#include "train/trainer.h"

namespace residual::train {
namespace {

// The progress of a process, with values that reveal a process whose results differ.
struct Standing {
  int64_t signal, update;
  double gradient_norm;
};

uint64_t checksum_of(const run::Corpora& corpora) {
  return checksum(corpora.fingerprint() + corpora.dev_fingerprint());
}

}  // namespace

// Checks, before anything is written, that all processes have connected and have the same text.
void Trainer::check_alike() const {
  std::vector<uint64_t> all(static_cast<size_t>(peers_.size()));
  all[static_cast<size_t>(peers_.rank())] = checksum_of(corpora_);
  peers_.complete(std::span(all));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    require(all[rank] == all[0],
            "{}: the training or dev corpus of process {} differs from that of process 0; copy the "
            "corpus to that machine, or give the right --data there",
            corpora_.directory().string(), rank);
  }
}

// Copies the state of process 0, and its command to resume the run, to all processes.
void Trainer::spread_start() {
  std::string state = to_toml(state_), command = resuming();
  peers_.spread(state);
  peers_.spread(command);
  if (peers_.leads()) return;
  read_toml(state, "the state of process 0", [&](ConfigVisitor& v) { fields(v, state_); });
  resuming_ = command;
}

// Checks that all processes are at the same update with the same gradient. Returns the signal that
// one of them received, or 0.
int Trainer::agree(const run::StopSignals& signals) const {
  std::vector<Standing> all(static_cast<size_t>(peers_.size()));
  all[static_cast<size_t>(peers_.rank())] = {signals.received(), state_.update, gradient_norm_};
  peers_.complete(std::span(all));
  int64_t signal = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const bool is_alike =
        all[rank].update == all[0].update && std::bit_cast<uint64_t>(all[rank].gradient_norm) ==
                                                 std::bit_cast<uint64_t>(all[0].gradient_norm);
    require(is_alike,
            "process {} is at update {} with a gradient of {}, process 0 at {} with {}: their "
            "results differ. Use the same kind of machine. Resume from the last checkpoint with "
            "--resume",
            rank, all[rank].update, all[rank].gradient_norm, all[0].update, all[0].gradient_norm);
    signal = std::max(signal, all[rank].signal);
  }
  return static_cast<int>(signal);
}

// Waits until all processes have finished writing. A launcher might take the end of one process for
// a failure and kill the others.
void Trainer::part() const {
  std::vector<char> all(static_cast<size_t>(peers_.size()));
  try {
    peers_.complete(std::span(all));
  } catch (const PeerLost&) {  // that process has reported the reason
  }
}

}  // namespace residual::train
