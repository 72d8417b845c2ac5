#include "metrics/metric.h"

#include "base/error.h"

namespace residual::metrics {

std::vector<double> Statistics::sum() const {
  std::vector<double> sums(width_);
  for (size_t i = 0; i < values_.size(); ++i) sums[i % width_] += values_[i];
  return sums;
}

std::string Signature::text(bool abbreviated) const {
  std::string out;
  for (const Field& field : fields_) {
    if (!out.empty()) out += '|';
    out += fmt::format("{}:{}", abbreviated ? field.abbreviation : field.key, field.value);
  }
  return out;
}

Signature make_signature(size_t references, const Trials& trials,
                         std::vector<Signature::Field> fields) {
  std::vector<Signature::Field> all{{"nrefs", "#", fmt::to_string(references)}};
  if (trials.bootstrap > 0) all.push_back({"bs", "bs", fmt::to_string(trials.bootstrap)});
  if (trials.randomisation > 0) all.push_back({"ar", "ar", fmt::to_string(trials.randomisation)});
  if (trials.bootstrap > 0 || trials.randomisation > 0) {
    all.push_back({"seed", "rs", fmt::to_string(trials.seed)});
  }
  all.insert(all.end(), fields.begin(), fields.end());
  all.push_back({"version", "v", std::string(kSacrebleuVersion)});
  return Signature(std::move(all));
}

void require_parallel(std::span<const std::string> hypotheses, const References& references) {
  require(!references.empty(), "no reference translations; at least one is needed");
  for (const Lines& lines : references) {
    require(lines.size() == hypotheses.size(),
            "a reference has {} lines, the hypotheses have {}; they must be parallel", lines.size(),
            hypotheses.size());
  }
}

}  // namespace residual::metrics
