// Theorem 3.2 and figure 3: the condition number of Adam's update, drawn and as a table.

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "probe/probe.h"

namespace residual::probe {
namespace {

constexpr double kSigmas[] = {0, 1e-8, 1e-7, 1e-6, 1e-4};
constexpr int64_t kSteps[] = {1, 2, 5, 10, 20};

std::vector<ConditionNumber> simulate(const AdamOptions& o, double sigma, EpsilonPlace place,
                                      DerivativeSign sign) {
  AdamSetting setting = o.setting;
  setting.place = place;
  setting.sign = sign;
  return simulate_condition(setting, sigma, o.steps, static_cast<uint64_t>(o.seed), o.draws);
}

std::vector<double> frobenius_of(const std::vector<ConditionNumber>& numbers) {
  std::vector<double> out;
  for (const auto& n : numbers) out.push_back(n.frobenius);
  return out;
}

report::Figure adam_steps(const AdamOptions& o) {
  report::Figure f{.id = "adam-steps",
                   .section = "Theorem 3.2: Adam",
                   .x_label = "step t",
                   .y_label = "condition number, Frobenius",
                   .log_y = true};
  f.title = "Condition number over steps (figure 3, left)";
  const auto at_zero = simulate(o, 0, EpsilonPlace::textbook, DerivativeSign::corrected);
  f.note = fmt::format(
      "Solid: the derivative of the update. Dashed: equation 6 as printed, with the wrong sign on "
      "the term that has g as a factor; it shows at the first steps. Equation 3 as printed lacks a "
      "square and would start at {:.4g}, not at {:.4g}.",
      printed_condition(o.setting, 1), at_zero.front().frobenius);
  int colour = 0;
  for (const double sigma : kSigmas) {
    const std::string name = fmt::format("gradients of size {:g}", sigma);
    f.series.push_back(report::counted(
        name, frobenius_of(simulate(o, sigma, EpsilonPlace::textbook, DerivativeSign::corrected)),
        colour));
    report::Series printed = report::counted(
        name + ", as printed",
        frobenius_of(simulate(o, sigma, EpsilonPlace::textbook, DerivativeSign::printed)), colour);
    printed.dashed = true;
    if (sigma > 0) f.series.push_back(std::move(printed));
    ++colour;
  }
  return f;
}

report::Figure adam_sizes(const AdamOptions& o) {
  report::Figure f{.id = "adam-sizes",
                   .section = "Theorem 3.2: Adam",
                   .x_label = "log10 of the gradients' size",
                   .y_label = "condition number, Frobenius",
                   .log_y = true};
  f.title = "Condition number over the size of gradients (figure 3, right)";
  f.note =
      "The condition number is large only while gradients are smaller than epsilon: vanished "
      "gradients make Adam sensitive, not early steps alone.";
  for (const int64_t t : kSteps) {
    if (t <= o.steps) f.series.push_back({.name = fmt::format("step {}", t), .x = {}, .y = {}});
  }
  for (double power = -10; power <= -3; power += 0.25) {
    const auto numbers =
        simulate(o, std::pow(10, power), EpsilonPlace::textbook, DerivativeSign::corrected);
    size_t s = 0;
    for (const int64_t t : kSteps) {
      if (t > o.steps) continue;
      f.series[s].x.push_back(power);
      f.series[s++].y.push_back(numbers[static_cast<size_t>(t) - 1].frobenius);
    }
  }
  return f;
}

report::Figure adam_norms(const AdamOptions& o) {
  report::Figure f{.id = "adam-norms",
                   .section = "Theorem 3.2: Adam",
                   .x_label = "step t",
                   .y_label = "condition number",
                   .log_y = true};
  f.title = "Which norm, at gradients of size 1e-7";
  f.note =
      "The definition is a supremum over directions and so the spectral norm, which does not grow "
      "with the number of parameters; the paper reports the Frobenius norm.";
  const auto numbers = simulate(o, 1e-7, EpsilonPlace::textbook, DerivativeSign::corrected);
  std::vector<double> spectral;
  for (const auto& n : numbers) spectral.push_back(n.spectral);
  f.series = {report::counted("Frobenius", frobenius_of(numbers), 0),
              report::counted("spectral", std::move(spectral), 1)};
  return f;
}

report::Figure adam_epsilons(const AdamOptions& o) {
  report::Figure f{.id = "adam-epsilon",
                   .section = "Theorem 3.2: Adam",
                   .x_label = "step t",
                   .y_label = "condition number, Frobenius",
                   .log_y = true};
  f.title = "Place of epsilon, at gradients of size 0";
  f.note =
      "fairseq adds epsilon before the bias correction, which makes early steps better "
      "conditioned. "
      "The paper's experiments ran with fairseq's default of 1e-8, not with the 1e-6 of its "
      "analysis.";
  for (const double epsilon : {o.setting.epsilon, 1e-8}) {
    AdamOptions other = o;
    other.setting.epsilon = epsilon;
    for (const auto& [name, place] :
         {std::pair{"textbook", EpsilonPlace::textbook}, {"fairseq", EpsilonPlace::fairseq}}) {
      f.series.push_back(
          report::counted(fmt::format("{}, epsilon {:g}", name, epsilon),
                          frobenius_of(simulate(other, 0, place, DerivativeSign::corrected)), -1));
    }
    if (o.setting.epsilon == 1e-8) break;
  }
  return f;
}

// Of all steps up to twice the warm-up, those that are evenly spaced by their logarithms.
report::Figure adam_warmup(const AdamOptions& o) {
  report::Figure f{.id = "adam-warmup",
                   .section = "Theorem 3.2: Adam",
                   .x_label = "log10 of the step t",
                   .y_label = "condition number, Frobenius",
                   .log_y = true};
  f.title = fmt::format("Condition number under a warm-up of {} updates", o.warmup);
  f.note =
      "Solid: the learning rate grows linearly. Dashed: it is constant. Warm-up removes the peak "
      "of "
      "the first steps. Once it has ended, the condition number is that of a constant rate: as "
      "large as the gradients are small.";
  int colour = 0;
  for (const double sigma : {0.0, 1e-7, 1e-6}) {
    const auto numbers = simulate_condition(o.setting, sigma, 2 * o.warmup,
                                            static_cast<uint64_t>(o.seed));  // they vary by 2 %
    const std::string name = fmt::format("gradients of size {:g}", sigma);
    report::Series constant{.name = name + ", constant", .x = {}, .y = {}, .dashed = true};
    report::Series warm{.name = name, .x = {}, .y = {}};
    constant.colour = warm.colour = colour++;
    int64_t last = 0;
    for (double power = 0;; power += 0.1) {
      const auto t = static_cast<int64_t>(std::pow(10, power) + 0.5);
      if (t > 2 * o.warmup) break;
      if (t == std::exchange(last, t)) continue;
      const double kappa = numbers[static_cast<size_t>(t) - 1].frobenius;
      constant.x.push_back(std::log10(static_cast<double>(t)));
      constant.y.push_back(kappa);
      warm.y.push_back(kappa * warmup_share(t, o.warmup));
    }
    warm.x = constant.x;
    f.series.push_back(std::move(warm));
    f.series.push_back(std::move(constant));
  }
  return f;
}

std::string setting_text(const AdamSetting& s) {
  return fmt::format("{} parameters, learning rate {:g}, betas {:g} and {:g}, epsilon {:g}",
                     s.parameters, s.learning_rate, s.beta1, s.beta2, s.epsilon);
}

}  // namespace

report::Report probe_adam(const AdamOptions& o) {
  return {
      .title = "The condition number of Adam's update",
      .facts = {{"setting", setting_text(o.setting)},
                {"draws", std::to_string(o.draws)},
                {"seed", std::to_string(o.seed)}},
      .figures = {adam_steps(o), adam_sizes(o), adam_warmup(o), adam_norms(o), adam_epsilons(o)}};
}

std::string adam_table(const AdamOptions& o) {
  std::string out = fmt::format("{}\n\n{:<30}", setting_text(o.setting), "gradients, form");
  for (const int64_t t : kSteps) {
    if (t <= o.steps) out += fmt::format("{:>10}", fmt::format("t={}", t));
  }
  const auto row = [&](const std::string& name, const std::vector<double>& values) {
    out += fmt::format("\n{:<30}", name);
    for (const int64_t t : kSteps) {
      if (t <= o.steps) out += fmt::format("{:>10.4g}", values[static_cast<size_t>(t) - 1]);
    }
  };
  for (const double sigma : kSigmas) {
    const auto numbers = simulate(o, sigma, EpsilonPlace::textbook, DerivativeSign::corrected);
    std::vector<double> spectral, warm;
    for (const auto& n : numbers) {
      spectral.push_back(n.spectral);
      warm.push_back(n.frobenius * warmup_share(static_cast<int64_t>(warm.size()) + 1, o.warmup));
    }
    row(fmt::format("{:g}", sigma), frobenius_of(numbers));
    row(fmt::format("  warm-up of {}", o.warmup), warm);
    row("  spectral norm", spectral);
    row("  equation 6 as printed",
        frobenius_of(simulate(o, sigma, EpsilonPlace::textbook, DerivativeSign::printed)));
    row("  fairseq's epsilon",
        frobenius_of(simulate(o, sigma, EpsilonPlace::fairseq, DerivativeSign::corrected)));
  }
  out += fmt::format("\n\nequation 3 as printed, t=1: {:.4g}\n", printed_condition(o.setting, 1));
  return out;
}

}  // namespace residual::probe
