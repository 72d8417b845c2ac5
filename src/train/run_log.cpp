#include "train/run_log.h"

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

namespace residual::train {
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
    : text_(run / "log.txt", GrowingFile::kAll, system),
      metrics_(run / "metrics.jsonl", metrics_bytes, system),
      speed_(run / "speed.jsonl", GrowingFile::kAll, system) {
  if (tensorboard) events_ = std::make_unique<EventFile>(run, update > 0 ? update + 1 : 0, system);
}

void RunLog::say(const std::string& text) {
  display_.line(text);
  note(text);
}

void RunLog::note(const std::string& text) { text_.append(clock_time() + "  " + text + "\n"); }

void RunLog::metrics(const std::string& kind, int64_t update,
                     const nlohmann::ordered_json& values) {
  nlohmann::ordered_json line{{"kind", kind}, {"update", update}};
  line.update(values);
  metrics_.append_line(line);
  if (!events_) return;
  for (const auto& [key, value] : values.items()) {
    if (!value.is_number()) continue;
    events_->scalar(kind + "/" + key, value.get<float>(), update, seconds_since_1970());
  }
  events_->flush();
}

}  // namespace residual::train
