#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "run/display.h"
#include "run/events.h"
#include "run/metrics.h"

namespace residual::run {

// All output of a run: the display and log.txt for people; metrics.jsonl (values that depend only
// on configuration, corpus and update), speed.jsonl (times) and TensorBoard's event files for
// programs.
class RunLog {
 public:
  RunLog() = default;  // writes nothing
  // A run that resumes after `update` continues metrics.jsonl at `metrics_bytes`.
  RunLog(const fs::path& run, bool tensorboard, int64_t update, int64_t metrics_bytes,
         FileSystem& system);

  void say(const std::string& text);   // to the display, and with the time to log.txt
  void note(const std::string& text);  // to log.txt only
  void live(const Status& status);

  // Writes a line of metrics.jsonl: {"kind": kind, "update": ..., ...}. Numbers also become scalars
  // "kind/key" of the event file.
  void metrics(const std::string& kind, int64_t update, const nlohmann::ordered_json& values);
  void speed(const nlohmann::ordered_json& values);

  int64_t sync();  // flushes metrics.jsonl to disk and returns its length

 private:
  struct Outlets {
    GrowingFile text, metrics, speed;
    std::unique_ptr<EventFile> events = nullptr;
    Display display{};
  };
  std::unique_ptr<Outlets> to_;
};

}  // namespace residual::run
