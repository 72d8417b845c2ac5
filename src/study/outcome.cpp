#include "study/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/corpus.h"
#include "data/prepared.h"
#include "model/directory.h"

namespace residual::study {
namespace {

using nlohmann::json;

// Calls use(object) for each complete line. An unfinished last line, left by a kill, is ignored.
template <class Use>
void each_line(const fs::path& file, Use use) {
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    ++number;
    const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
    require(object.is_object(), "{}: line {} is not a JSON object; the file is damaged",
            file.string(), number);
    use(object);
  }
}

// JSON has no infinity or NaN; metrics files store null.
double number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const auto& value : list) {
    values.push_back(value.is_number() ? value.get<double>()
                                       : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

ProbeLine probe_line(const json& object) {
  ProbeLine line{.update = object.value("update", int64_t{0})};
  for (const char* side : {"encoder", "decoder"}) {
    const std::string name = side;
    if (!object.contains(name + "_gradients")) continue;
    line.sides.push_back(name);
    line.gradients.push_back(numbers(object[name + "_gradients"]));
    line.changes.push_back(numbers(object[name + "_changes"]));
  }
  return line;
}

// Tells whether a run left nonfinite-<update> behind and has not passed that update since.
bool stopped_at_nonfinite(const fs::path& run, int64_t updates) {
  const std::string prefix = "nonfinite-";
  if (!fs::is_directory(run)) return false;
  for (const auto& item : fs::directory_iterator(run)) {
    const std::string name = item.path().filename();
    if (!name.starts_with(prefix)) continue;
    if (std::strtoll(name.c_str() + prefix.size(), nullptr, 10) > updates) return true;
  }
  return false;
}

}  // namespace

Record read_record(const fs::path& run) {
  Record record;
  each_line(run / "metrics.jsonl", [&](const json& object) {
    const auto update = object.value("update", int64_t{0});
    const std::string kind = object.value("kind", "");
    record.updates = std::max(record.updates, update);
    if (kind == "probe") record.probes.push_back(probe_line(object));
    if (kind != "train" && kind != "valid") return;
    report::Series& series = kind == "train" ? record.train : record.dev;
    series.x.push_back(static_cast<double>(update));
    series.y.push_back(number(object, "nll"));
  });
  each_line(run / "speed.jsonl",
            [&](const json& object) { record.seconds += object.value("seconds", 0.0); });
  record.nonfinite = stopped_at_nonfinite(run, record.updates);
  if (fs::exists(run / "best" / model::kConfigFile)) {
    model::Description best;
    read_config(run / "best" / model::kConfigFile, best);
    record.best = best.update;
  }
  return record;
}

double unigram_entropy(const fs::path& directory) {
  std::map<int32_t, int64_t> counts;
  int64_t total = 0;
  std::vector<int32_t> ids;
  for (const auto& prepared : data::load_manifest(directory).corpora) {
    if (prepared.split != "dev") continue;
    const data::Corpus corpus = data::Corpus::open(directory / prepared.file);
    corpus.check_sums();
    for (int64_t pair = 0; pair < corpus.size(); ++pair) {
      ids.clear();
      corpus.target(pair).append_to(ids);
      for (const int32_t id : ids) ++counts[id];
      total += static_cast<int64_t>(ids.size());
    }
  }
  require(total > 0, "{}: has no dev corpus, which a study needs to judge convergence",
          directory.string());
  double entropy = 0;
  for (const auto& [id, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(total);
    entropy -= share * std::log2(share);
  }
  return entropy;
}

Verdict judge(const Record& record, ScoredWeights model, double unigram) {
  Verdict verdict{.dev_nll = std::numeric_limits<double>::quiet_NaN()};
  const auto& dev = record.dev.y;
  if (!dev.empty()) verdict.dev_nll = dev.back();
  for (size_t i = 0; i < dev.size() && model == ScoredWeights::best; ++i) {
    if (record.dev.x[i] == static_cast<double>(record.best)) verdict.dev_nll = dev[i];
  }
  if (record.nonfinite) {
    verdict.reason = fmt::format("not finite after update {}", record.updates);
  } else if (dev.empty()) {
    verdict.reason = "never validated";
  } else if (!(verdict.dev_nll < unigram)) {
    verdict.reason = fmt::format("dev perplexity {:.1f}, not below the {:.1f} of word frequencies",
                                 std::exp2(verdict.dev_nll), std::exp2(unigram));
  }
  verdict.converged = verdict.reason.empty();
  return verdict;
}

}  // namespace residual::study
