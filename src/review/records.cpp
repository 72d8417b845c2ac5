#include "review/records.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/error.h"
#include "run/run_directory.h"

namespace residual::review {
namespace {

using nlohmann::json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::streamoff kLogTail = 8192;       // bytes
constexpr std::string_view kError = "error: ";  // Trainer::run() writes it

// JSON has no NaN; metrics files store null.
double number(const json& value) { return value.is_number() ? value.get<double>() : kNone; }

// A resume may have computed the update again: the later line counts.
void append(Curve& curve, double update, double value) {
  while (!curve.empty() && curve.update.back() >= update) {
    curve.update.pop_back();
    curve.value.pop_back();
  }
  curve.update.push_back(update);
  curve.value.push_back(value);
}

Samples samples_of(const json& line, int64_t update) {
  Samples samples{.update = update};
  for (const auto& s : line.value("samples", json::array())) {
    if (!s.is_object()) continue;
    samples.sentences.push_back(
        {s.value("source", ""), s.value("reference", ""), s.value("hypothesis", "")});
  }
  return samples;
}

void note(Records& records, const std::string& kind, const json& line) {
  const auto update = line.value("update", int64_t{0});
  records.update = std::max(records.update, update);
  if (kind == "samples") {
    records.samples.push_back(samples_of(line, update));
    return;
  }
  for (const auto& [key, value] : line.items()) {
    if (key != "update" && (value.is_number() || value.is_null()))
      append(records.curves[kind + "/" + key], static_cast<double>(update), number(value));
  }
  for (const std::string side : {"encoder", "decoder"}) {
    const auto list = line.find(side + "_gradients");
    if (list == line.end() || !list->is_array()) continue;
    BlockGradients all{.update = update};
    for (const auto& value : *list) all.norms.push_back(number(value));
    records.gradients[side].push_back(std::move(all));
  }
}

template <class Use>
void each_line(const fs::path& file, Use use) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line) && !in.eof();) {
    try {
      const json object = json::parse(line);
      if (object.is_object()) use(object);
    } catch (const json::exception&) {  // damaged: `residual verify` reports it
    }
  }
}

// Whether a line begins with a time as log.txt has it: "2026-11-19 04:21:31  ".
bool has_time(std::string_view line) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00  ";
  if (line.size() < kForm.size()) return false;
  return std::equal(kForm.begin(), kForm.end(), line.begin(), [](char form, char c) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : form == c;
  });
}

// The last message of log.txt, which may have several lines.
std::string last_message(const fs::path& log) {
  std::ifstream in(log, std::ios::ate);
  if (!in) return "";
  in.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(in.tellg()) - kLogTail));
  std::string message;
  for (std::string line; std::getline(in, line);) {
    if (has_time(line)) {
      message = line.substr(21);
    } else if (!message.empty()) {
      message += "\n" + line;
    }
  }
  return message;
}

State state_of(const fs::path& run, const std::string& message) {
  const auto begins = [&](std::string_view start) { return message.starts_with(start); };
  if (begins("finished after update") || begins("nothing to do")) return State::finished;
  if (begins("stopped after update")) return State::stopped;
  if (begins(kError)) return State::failed;
  return is_running(run) ? State::running : State::killed;
}

}  // namespace

const Curve& Records::curve(const std::string& key) const {
  static const Curve kEmpty;
  const auto found = curves.find(key);
  return found == curves.end() ? kEmpty : found->second;
}

bool is_running(const fs::path& run) {
  const int file = ::open((run / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool locked = ::flock(file, LOCK_SH | LOCK_NB) != 0;
  ::close(file);  // the lock is not kept
  return locked;
}

Records read_records(const fs::path& run) {
  require(fs::is_directory(run), "{}: is not a directory; expected the directory of a run",
          run.string());
  require(fs::exists(run / run::kMetrics) || fs::exists(run / run::kRunConfig),
          "{}: holds no run (it has neither {} nor {})", run.string(), run::kMetrics,
          run::kRunConfig);
  Records records{.name = fs::weakly_canonical(run).filename(), .path = run};
  try {
    run::TrainConfig config;
    read_config(run / run::kRunConfig, config);
    records.config = std::move(config);
  } catch (const Error&) {  // of another version: the curves still tell something
  }
  each_line(run / run::kMetrics,
            [&](const json& line) { note(records, line.value("kind", ""), line); });
  each_line(run / "speed.jsonl", [&](const json& line) { note(records, "speed", line); });
  records.last_message = last_message(run / "log.txt");
  records.state = state_of(run, records.last_message);
  return records;
}

}  // namespace residual::review
