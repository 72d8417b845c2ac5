#include "review/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/progress.h"

namespace residual::review {
namespace {

std::optional<double> latest(const Curve& curve) {
  if (curve.empty() || !std::isfinite(curve.value.back())) return {};
  return curve.value.back();
}

template <class Better>
std::optional<double> best(const Curve& curve, Better better) {
  std::optional<double> found;
  for (const double value : curve.value) {
    if (std::isfinite(value) && (!found || better(value, *found))) found = value;
  }
  return found;
}

nlohmann::ordered_json json_of(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nullptr;
}

}  // namespace

size_t Summary::problems() const {
  return static_cast<size_t>(std::ranges::count(findings, Severity::problem, &Finding::severity));
}

Summary summary_of(const Records& r) {
  return {.name = r.name,
          .scheme = r.scheme(),
          .description = r.config ? r.config->description : "",
          .state = r.state,
          .update = r.update,
          .max_updates = r.config ? r.config->train.max_updates : 0,
          .loss = latest(r.curve("train/loss")),
          .tokens_per_second = latest(r.curve("speed/tokens_per_second")),
          .perplexity = best(r.curve("valid/perplexity"), std::less<>()),
          .bleu = best(r.curve("valid/bleu"), std::greater<>()),
          .findings = findings(r)};
}

std::string describe(const Summary& s) {
  const auto count = [](int64_t n) { return format_count(static_cast<uint64_t>(n)); };
  std::string text = fmt::format("{}, update {}", name_of(s.state), count(s.update));
  if (s.max_updates > 0) text += fmt::format(" of {}", count(s.max_updates));
  if (s.perplexity) text += fmt::format("; best dev perplexity {:.4g}", *s.perplexity);
  if (s.bleu) text += fmt::format("; best BLEU {:.1f}", *s.bleu);
  return text;
}

std::string to_json(const std::vector<Summary>& summaries) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Summary& s : summaries) {
    all.push_back({{"name", s.name},
                   {"scheme", s.scheme},
                   {"description", s.description},
                   {"state", name_of(s.state)},
                   {"update", s.update},
                   {"max_updates", s.max_updates},
                   {"loss", json_of(s.loss)},
                   {"perplexity", json_of(s.perplexity)},
                   {"bleu", json_of(s.bleu)},
                   {"tokens_per_second", json_of(s.tokens_per_second)},
                   {"problems", s.problems()}});
  }
  using Handler = nlohmann::ordered_json::error_handler_t;
  return nlohmann::ordered_json{{"runs", std::move(all)}}.dump(-1, ' ', false, Handler::replace);
}

}  // namespace residual::review
