#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "run/config.h"

namespace residual::review {

// Values over updates, in ascending order; NaN: recorded, but not finite.
struct Curve {
  std::vector<double> update, value;

  bool empty() const { return update.empty(); }
  size_t size() const { return update.size(); }
};

// Dev sentences as one validation translated them.
struct Samples {
  struct Sentence {
    std::string source, reference, hypothesis;
  };
  int64_t update = 0;
  std::vector<Sentence> sentences;
};

// The norms of the gradients of a stack's blocks, bottom to top.
struct BlockGradients {
  int64_t update = 0;
  std::vector<double> norms;
};

enum class State { running, finished, stopped, failed, killed };
constexpr auto names(State) {
  return std::array{"running", "finished", "stopped", "failed", "killed"};
}

// What a run directory tells without its checkpoints and models. Missing files leave members empty.
struct Records {
  std::string name;  // of the run in a report
  fs::path path;
  std::optional<run::TrainConfig> config;
  // By kind and key of the line: "train/loss", "valid/bleu", "probe/decoder_gradient_low",
  // "speed/tokens_per_second".
  std::map<std::string, Curve> curves;
  std::vector<Samples> samples;
  std::map<std::string, std::vector<BlockGradients>> gradients;  // by stack: "encoder", "decoder"
  int64_t update = 0;                                            // the latest recorded
  State state = State::finished;
  std::string last_message;  // of log.txt, without its time

  const Curve& curve(const std::string& key) const;  // empty if there is none
  std::string scheme() const { return config ? config->model.residual.name : ""; }
};

// Reads a run directory, also while the run writes it. A last line that is not complete is left
// out, and so are lines that are no JSON objects.
Records read_records(const fs::path& run);

// Whether a process trains in the directory.
bool is_running(const fs::path& run);

}  // namespace residual::review
