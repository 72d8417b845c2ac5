#include "review/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/progress.h"

namespace residual::review {
namespace {

constexpr size_t kFewest = 8;       // records, from which on a trend is judged
constexpr double kNoFall = 0.005;   // share of the loss by which it falls, or not, in a quarter
constexpr double kUnlearnt = 0.55;  // share of the loss of a model that knows nothing
constexpr double kFaded = 0.05;     // share of the largest gradient norm
constexpr double kRise = 0.01;      // of the dev loss above its best value
constexpr double kSpike = 10;       // times the median of the records before
constexpr size_t kBefore = 20;      // records whose median that is
constexpr double kManySkipped = 0.02;

std::string count(double n) { return format_count(static_cast<uint64_t>(n)); }

// Appends findings of a severity.
class Notes {
 public:
  template <class... Values>
  void problem(fmt::format_string<Values...> text, Values&&... values) {
    add(Severity::problem, fmt::format(text, std::forward<Values>(values)...));
  }
  template <class... Values>
  void note(fmt::format_string<Values...> text, Values&&... values) {
    add(Severity::note, fmt::format(text, std::forward<Values>(values)...));
  }
  std::vector<Finding> take() {
    std::ranges::stable_sort(all_, {}, &Finding::severity);
    return std::move(all_);
  }

 private:
  void add(Severity severity, std::string text) { all_.push_back({severity, std::move(text)}); }

  std::vector<Finding> all_;
};

Curve finite(const Curve& curve) {
  Curve kept;
  for (size_t i = 0; i < curve.size(); ++i) {
    if (!std::isfinite(curve.value[i])) continue;
    kept.update.push_back(curve.update[i]);
    kept.value.push_back(curve.value[i]);
  }
  return kept;
}

double mean(const Curve& curve, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += curve.value[i];
  return sum / static_cast<double>(end - begin);
}

double largest(const Curve& curve) {
  double found = 0;
  for (const double value : curve.value) found = value > found ? value : found;
  return found;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The first of the last records of which all are `bad`; empty if the very last is not.
template <class Bad>
std::optional<size_t> last_spell(size_t size, Bad bad) {
  size_t first = size;
  while (first > 0 && bad(first - 1)) --first;
  return first == size ? std::nullopt : std::optional(first);
}

std::string since(const Curve& curve, size_t first) {
  return first == 0 ? "from the start" : "at update " + count(curve.update[first]);
}

void check_blocks(const Records& r, const std::string& side, Notes& notes) {
  const Curve& low = r.curve("probe/" + side + "_gradient_low");
  const Curve& high = r.curve("probe/" + side + "_gradient_high");
  const size_t size = std::min(low.size(), high.size());
  const std::string whose =
      r.scheme().empty() ? "The " + side : "The " + side + " of " + r.scheme();
  const double most = largest(high);
  const auto stopped = [&](size_t i) { return !(high.value[i] >= kStopped * most); };
  const auto vanished = [&](size_t i) { return !(low.value[i] >= kVanished * high.value[i]); };
  if (const auto first = last_spell(size, stopped)) {
    notes.problem(
        "{} stopped receiving gradients {}: the norm of its upper blocks' gradients is {:.2g} of "
        "what it was at most. The stack no longer learns; use a longer warm-up, a lower "
        "schedule.peak or another scheme.",
        whose, since(high, *first), high.value[size - 1] / most);
  } else if (const auto lower = last_spell(size, vanished)) {
    notes.problem(
        "{}: the lower blocks {} receiving gradients {}. The lowest third has {:.2g} of the "
        "gradient norm of the highest third.",
        whose, *lower == 0 ? "have hardly been" : "stopped", since(low, *lower),
        low.value[size - 1] / high.value[size - 1]);
  }
  const Curve& change = r.curve("probe/" + side + "_change_high");
  const auto collapsed = [&](size_t i) { return change.value[i] < kCollapsed; };
  if (const auto first = last_spell(change.size(), collapsed)) {
    notes.problem("{}: the upper blocks hardly change what they receive, {}: {:.2g} on average.",
                  whose, since(change, *first), change.value.back());
  }
}

// The loss, in bits, of a model that knows nothing.
double ignorance(const Records& r, const Curve& nll) {
  const double words = r.config ? static_cast<double>(r.config->model.target_vocabulary) : 0;
  return words > 1 ? std::log2(words) : nll.value.front();
}

// The first record since which the loss has been far above its lowest value.
std::optional<size_t> diverged(const Curve& nll) {
  const auto lowest = std::ranges::min_element(nll.value);
  const auto risen = [&](size_t i) {
    return nll.value[i] > *lowest + std::max(0.5, 0.1 * *lowest);
  };
  const auto spell = last_spell(nll.size(), risen);
  const bool is_after = spell && lowest - nll.value.begin() < static_cast<std::ptrdiff_t>(*spell);
  return is_after && nll.size() - *spell >= 2 ? spell : std::nullopt;
}

void check_progress(const Records& r, Notes& notes) {
  const Curve nll = finite(r.curve("train/nll"));
  const size_t n = nll.size();
  if (n < kFewest) return;
  if (const auto rise = diverged(nll)) {
    notes.problem(
        "The training loss rose {}: from {:.2f} to {:.2f} bits per token. The run diverges; a "
        "lower schedule.peak, a longer warm-up or an optimizer.clip_norm may help.",
        since(nll, *rise), *std::ranges::min_element(nll.value), nll.value.back());
    return;
  }
  const double before = mean(nll, n - 2 * (n / 4), n - n / 4), now = mean(nll, n - n / 4, n);
  if (now < (1 - kNoFall) * before || now < kUnlearnt * ignorance(r, nll)) return;
  const Curve norm = finite(r.curve("train/gradient_norm"));
  const double faded = norm.empty() ? 1 : norm.value.back() / largest(norm);
  notes.problem(
      "The loss is not falling: {:.2f} bits per token up to update {}, {:.2f} up to update {}.{} "
      "A model that knows nothing has {:.2f}.",
      before, count(nll.update[n - n / 4 - 1]), now, count(nll.update.back()),
      faded < kFaded ? fmt::format(" The gradient norm has fallen to {:.2g} of its largest value: "
                                   "the model has stopped learning.",
                                   faded)
                     : "",
      ignorance(r, nll));
}

void check_overfitting(const Records& r, Notes& notes) {
  const Curve dev = finite(r.curve("valid/loss")), train = finite(r.curve("train/loss"));
  if (dev.size() < 3) return;
  const auto lowest = std::ranges::min_element(dev.value) - dev.value.begin();
  const auto best = static_cast<size_t>(lowest);
  const auto worse = [&](size_t i) { return dev.value[i] > (1 + kRise) * dev.value[best]; };
  const auto spell = last_spell(dev.size(), worse);
  if (!spell || *spell <= best || dev.size() - *spell < 2) return;
  const auto then = std::ranges::lower_bound(train.update, dev.update[best]);
  if (then == train.update.end()) return;
  const double loss_then = train.value[static_cast<size_t>(then - train.update.begin())];
  if (!(train.value.back() < loss_then)) return;
  notes.problem(
      "Overfitting since update {}: the dev loss rose from {:.3f} to {:.3f} while the training "
      "loss fell from {:.3f} to {:.3f}. More dropout or data, a smaller model, or "
      "validate.patience may help.",
      count(dev.update[best]), dev.value[best], dev.value.back(), loss_then, train.value.back());
}

void check_numbers(const Records& r, Notes& notes) {
  for (const auto& [key, what] : {std::pair("train/loss", "training"), {"valid/loss", "dev"}}) {
    const Curve& loss = r.curve(key);
    const auto first = last_spell(loss.size(), [&](size_t i) { return std::isnan(loss.value[i]); });
    if (first) notes.problem("The {} loss is not a number, {}.", what, since(loss, *first));
  }
  const Curve& skipped = r.curve("train/skipped");
  if (skipped.empty() || !(skipped.value.back() > 0)) return;
  const double all = skipped.value.back();
  const bool is_half = r.config && r.config->train.precision == run::TrainingPrecision::fp16;
  const auto first = std::ranges::find_if(skipped.value, [](double n) { return n > 0; });
  const double at = skipped.update[static_cast<size_t>(first - skipped.value.begin())];
  if (!is_half) {
    notes.problem(
        "{} updates were skipped because a loss or gradient was not finite, the first before "
        "update {}.",
        count(all), count(at));
    return;
  }
  const size_t quarter = skipped.size() - 1 - skipped.size() / 4;
  const double lately = all - skipped.value[quarter];
  const double updates = skipped.update.back() - skipped.update[quarter];
  const Curve& scale = r.curve("train/loss_scale");
  const std::string now =
      scale.empty() ? "" : fmt::format(" The loss is now scaled by {:g}.", scale.value.back());
  if (lately > kManySkipped * std::max(1.0, updates)) {
    notes.problem(
        "fp16: {} of the last {} updates overflowed and were skipped.{} bf16 or fp32 "
        "would not.",
        count(lately), count(updates + lately), now);
  } else {
    notes.note(
        "fp16: {} updates overflowed and were skipped, which is usual while the scale of "
        "the loss settles.{}",
        count(all), now);
  }
}

void check_gradient_norm(const Records& r, Notes& notes) {
  const Curve& norm = r.curve("train/gradient_norm");
  size_t spikes = 0, highest = 0;
  for (size_t i = kFewest; i < norm.size(); ++i) {
    const size_t from = i - std::min(i, kBefore);
    const double usual = median({norm.value.begin() + static_cast<std::ptrdiff_t>(from),
                                 norm.value.begin() + static_cast<std::ptrdiff_t>(i)});
    if (!(norm.value[i] > kSpike * usual)) continue;
    if (spikes++ == 0 || norm.value[i] > norm.value[highest]) highest = i;
  }
  if (spikes == 0) return;
  notes.note(
      "The gradient norm jumped to more than {} times its usual value {}, at most to {:.3g} "
      "before update {}.",
      kSpike, spikes == 1 ? "once" : count(static_cast<double>(spikes)) + " times",
      norm.value[highest], count(norm.update[highest]));
}

void check_rate(const Records& r, Notes& notes) {
  if (!r.config || r.config->schedule.kind == run::ScheduleKind::t_fixup) return;
  const run::ScheduleConfig& s = r.config->schedule;
  const Curve& rate = r.curve("train/learning_rate");
  if (rate.empty() || r.update >= s.warmup) return;
  const std::string where =
      fmt::format("update {} of {}, {:.2g} of {:.2g}", count(static_cast<double>(r.update)),
                  count(static_cast<double>(s.warmup)), rate.value.back(), s.peak);
  const int64_t end = r.config->train.max_updates;
  if (end > 0 && end < s.warmup) {
    notes.problem(
        "The learning rate warms up for longer than the run lasts ({}); lower "
        "schedule.warmup.",
        where);
  } else {
    notes.note("The learning rate is still warming up: {}.", where);
  }
}

void check_end(const Records& r, Notes& notes) {
  if (r.state == State::failed) notes.problem("The run ended with an {}", r.last_message);
  if (r.state == State::killed) {
    notes.problem(
        "The run did not end by itself and no process trains it: it was killed, or its "
        "machine stopped. `residual train --resume -o {}` continues it.",
        r.path.string());
  }
}

}  // namespace

std::vector<Finding> findings(const Records& records) {
  Notes notes;
  check_end(records, notes);
  for (const char* side : {"encoder", "decoder"}) check_blocks(records, side, notes);
  check_numbers(records, notes);
  check_progress(records, notes);
  check_overfitting(records, notes);
  check_gradient_norm(records, notes);
  check_rate(records, notes);
  return notes.take();
}

}  // namespace residual::review
