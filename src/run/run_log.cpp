#include "run/run_log.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

namespace residual::run {
namespace {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string clock_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace

RunLog::RunLog(const fs::path& run, bool tensorboard, int64_t update, int64_t metrics_bytes,
               FileSystem& system)
    : to_(new Outlets{GrowingFile(run / "log.txt", GrowingFile::kAll, system),
                      GrowingFile(run / "metrics.jsonl", metrics_bytes, system),
                      GrowingFile(run / "speed.jsonl", GrowingFile::kAll, system)}) {
  if (tensorboard) {
    to_->events = std::make_unique<EventFile>(run, update > 0 ? update + 1 : 0, system);
  }
}

void RunLog::say(const std::string& text) {
  if (!to_) return;
  to_->display.line(text);
  note(text);
}

void RunLog::note(const std::string& text) {
  if (to_) to_->text.append(clock_time() + "  " + text + "\n");
}

void RunLog::live(const Status& status) {
  if (to_) to_->display.update(status);
}

void RunLog::metrics(const std::string& kind, int64_t update,
                     const nlohmann::ordered_json& values) {
  if (!to_) return;
  nlohmann::ordered_json line{{"kind", kind}, {"update", update}};
  line.update(values);
  to_->metrics.append_line(line);
  if (!to_->events) return;
  for (const auto& [key, value] : values.items()) {
    if (!value.is_number()) continue;
    to_->events->scalar(fmt::format("{}/{}", kind, key), value.get<float>(), update,
                        seconds_since_1970());
  }
  to_->events->flush();
}

void RunLog::speed(const nlohmann::ordered_json& values) {
  if (to_) to_->speed.append_line(values);
}

int64_t RunLog::sync() {
  if (!to_) return 0;
  to_->metrics.sync();
  return to_->metrics.bytes();
}

}  // namespace residual::run
