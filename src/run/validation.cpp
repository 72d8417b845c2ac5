#include "run/validation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run/run_directory.h"

namespace residual::run {

Rank note_validation(State& state, ValidationMetric metric, double value, int64_t keep) {
  const auto better = [metric](double a, double b) { return is_better(metric, a, b); };
  const bool gain =
      !std::isnan(value) && (state.best.empty() || better(value, state.best[0].value));
  state.validations_without_gain = gain ? 0 : state.validations_without_gain + 1;
  state.validated = state.update;
  if (std::isnan(value) && state.best.empty()) return Rank::none;
  const auto place = std::ranges::find_if_not(
      state.best, [&](const BestValidation& best) { return better(best.value, value); });
  const auto rank = place - state.best.begin();
  const int64_t size = std::max<int64_t>(1, keep);
  state.best.insert(place, {state.update, value});
  if (std::ssize(state.best) > size) state.best.resize(static_cast<size_t>(size));
  return rank == 0 ? Rank::best : rank < size ? Rank::kept : Rank::none;
}

bool is_better(ValidationMetric metric, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return metric == ValidationMetric::bleu ? a > b : a < b;
}

std::map<int64_t, double> validations_of(const fs::path& run, ValidationMetric metric) {
  std::map<int64_t, double> found;
  if (!fs::exists(run / kMetrics)) return found;
  std::istringstream lines(read_file(run / kMetrics));
  for (std::string text; std::getline(lines, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object() || line.value("kind", "") != "valid") continue;
    const auto value = line.find(name_of(metric));
    const bool is_number = value != line.end() && value->is_number();
    found[line.value("update", int64_t{0})] = is_number ? value->get<double>() : std::nan("");
  }
  return found;
}

}  // namespace residual::run
