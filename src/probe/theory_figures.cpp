// The paper's theorems and figure 3, drawn: what is printed, what follows, what a simulation gives.

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "probe/probe.h"
#include "probe/theory.h"

namespace residual::probe {
namespace {

constexpr int kTrials = 16;
constexpr const char* kFollows = "follows from the assumptions";
constexpr const char* kSimulated = "assumptions simulated";

// f(k) for k = first ... last.
template <class F>
Series curve(std::string name, int first, int last, const F& f, int colour) {
  Series s{.name = std::move(name), .dashed = true, .colour = colour};
  for (int k = first; k <= last; ++k) {
    s.x.push_back(k);
    s.y.push_back(f(k));
  }
  return s;
}

Series simulated(std::string name, std::vector<double> y, int colour) {
  Series s{.name = std::move(name),
           .x = std::vector<double>(y.size()),
           .y = std::move(y),
           .colour = colour};
  std::iota(s.x.begin(), s.x.end(), 1.0);
  return s;
}

// Relative to block 1: the theorem gives growth, not size.
Series relative(Series s) {
  const double first = s.y.front();
  for (double& y : s.y) y /= first;
  return s;
}

Figure theorem_31(LinearModel model, const TheoryOptions& o) {
  const int n = o.blocks;
  Figure f{.section = "Theorem 3.1: gradients",
           .x_label = "block k",
           .y_label = "gradient norm, relative to block 1",
           .log_y = true};
  const Series simulation = relative(simulated(
      kSimulated,
      simulate_linear_gradients(model, n, o.width, kTrials, static_cast<uint64_t>(o.seed)), 0));
  switch (model) {
    case LinearModel::post_ln:
      f.id = "theorem-3-1-post-ln";
      f.title = "Post-LN, equation 1";
      f.note =
          "Does not follow. With branches that keep the norm, a gradient grows by sqrt(2) at every "
          "I + W^T, not like e^sqrt(N-k), and that cancels the norms' 1/sqrt(2): the linear model "
          "predicts no vanishing. Real models vanish since branches add variance without handing "
          "the gradient back; measure it with `residual probe`.";
      f.series = {simulation,
                  curve(
                      kFollows, 1, n, [&](int k) { return linear_post_ln_gradient(k, n); }, 0),
                  relative(curve(
                      "printed: (1/2)^((N-k)/2) e^sqrt(N-k)", 1, n,
                      [&](int k) { return printed_post_ln_gradient(k, n); }, 1))};
      break;
    case LinearModel::pre_ln:
      f.id = "theorem-3-1-pre-ln";
      f.title = "Pre-LN, equation 2";
      f.note =
          "Does not follow. The product of I + W^T/sqrt(l) grows like sqrt((N+1)/(k+1)): gradients "
          "fall like 1/sqrt(k+1) and are largest at the bottom. The theorem and its proof in "
          "appendix A "
          "print different rates; both are undefined at k = N and zero at k = N - 1.";
      f.series = {simulation,
                  curve(
                      kFollows, 1, n, [&](int k) { return linear_pre_ln_gradient(k, n); }, 0),
                  relative(curve(
                      "printed: sqrt(log(N-k)/N)", 1, n - 2,
                      [&](int k) { return printed_pre_ln_gradient(k, n); }, 1)),
                  relative(curve(
                      "appendix A: log(N-k)/sqrt(N)", 1, n - 2,
                      [&](int k) { return proved_pre_ln_gradient(k, n); }, 2))};
      break;
    case LinearModel::resi_dual:
      f.id = "theorem-3-1-resi-dual";
      f.title = "ResiDual, equation 5";
      f.note =
          "Does not follow, as (1) and (2) do not. That the dual stream hands every block the same "
          "gradient, of order 1/sqrt(N), does: no block can get less of it than another.";
      f.series = {simulation, relative(curve(
                                  "printed: the larger of (1) and (2)", 1, n - 2,
                                  [&](int k) { return printed_resi_dual_gradient(k, n); }, 1))};
      break;
  }
  return f;
}

Figure theorem_33(const TheoryOptions& o) {
  const auto stack =
      simulate_gaussian_stack("pre-ln", o.blocks, o.width, 1, static_cast<uint64_t>(o.seed));
  Figure f{.id = "theorem-3-3",
           .section = "Theorems 3.3 to 3.7: representations",
           .title = "Pre-LN: change between blocks (3.3, 3.4)",
           .x_label = "block k",
           .y_label = "E|x(k+1) - x(k)|"};
  f.note =
      "Holds exactly for Gaussian, independent branches. The theorem leaves the embedding out of "
      "the sum and so is undefined at k = 1; with it, block k has the theorem's k + 1.";
  f.series = {simulated("simulated", stack.change, 0),
              curve(
                  "theorem 3.3", 1, o.blocks - 1, [](int k) { return pre_ln_change(k + 1); }, 1)};
  return f;
}

Figure theorem_36(const TheoryOptions& o) {
  Figure f{.id = "theorem-3-6",
           .section = "Theorems 3.3 to 3.7: representations",
           .title = "Post-LN and ResiDual: change between blocks (3.6)",
           .x_label = "block k",
           .y_label = "E|x(k+1) - x(k)|"};
  f.note =
      "Holds exactly, for every variance of the branches: 1 as in the theorems' pictures, 0.32 and "
      "1/18 as feed-forward blocks of width 4d have at Xavier's and PyTorch's initialisation.";
  int colour = 0;
  for (const auto& [name, variance] : {std::pair{"1", 1.0}, {"0.32", 0.32}, {"1/18", 1.0 / 18}}) {
    const auto stack = simulate_gaussian_stack("resi-dual", o.blocks, o.width, variance,
                                               static_cast<uint64_t>(o.seed));
    f.series.push_back(simulated(fmt::format("variance {}", name), stack.change, colour));
    f.series.push_back(curve(
        fmt::format("theorem, {}", name), 1, o.blocks - 1,
        [v = variance](int) { return post_ln_change(v); }, colour));
    ++colour;
  }
  return f;
}

Figure corollaries(const TheoryOptions& o) {
  Figure f{.id = "corollaries-3-5-3-7",
           .section = "Theorems 3.3 to 3.7: representations",
           .title = "Change of the output by one more block (3.5, 3.7)",
           .x_label = "blocks N",
           .y_label = "E|y(N) - y(N-1)|"};
  f.note =
      "Both hold. Corollary 3.7 says Pre-LN and means ResiDual. Its proof adds the variances of "
      "two "
      "differences that share a branch; their covariance is positive, so the bound holds with "
      "room.";
  int colour = 0;
  for (const char* scheme : {"pre-ln", "post-ln", "resi-dual"}) {
    f.series.push_back(simulated(
        scheme,
        simulate_gaussian_stack(scheme, o.blocks, o.width, 1, static_cast<uint64_t>(o.seed))
            .output_change,
        colour++));
  }
  f.series.push_back(curve(
      "corollary 3.5, Pre-LN", 1, o.blocks, [](int n) { return pre_ln_change(n + 1); }, 0));
  f.series.push_back(curve(
      "corollary 3.7, lower bound", 1, o.blocks, [](int) { return post_ln_change(1); }, 2));
  return f;
}

// ---- Adam

constexpr double kSigmas[] = {0, 1e-8, 1e-7, 1e-6, 1e-4};
constexpr int64_t kSteps[] = {1, 2, 5, 10, 20};

std::vector<ConditionNumber> simulate(const AdamOptions& o, double sigma, EpsilonPlace place,
                                      DerivativeSign sign) {
  AdamSetting setting = o.setting;
  setting.place = place;
  setting.sign = sign;
  return simulate_condition(setting, sigma, o.steps, static_cast<uint64_t>(o.seed));
}

std::vector<double> frobenius_of(const std::vector<ConditionNumber>& numbers) {
  std::vector<double> out;
  for (const auto& n : numbers) out.push_back(n.frobenius);
  return out;
}

Figure adam_steps(const AdamOptions& o) {
  Figure f{.id = "adam-steps",
           .section = "Theorem 3.2: Adam",
           .x_label = "step t",
           .y_label = "condition number, Frobenius",
           .log_y = true};
  f.title = "Condition number over steps (figure 3, left)";
  f.note =
      "Solid: the derivative of the update. Dashed: equation 6 as printed, whose second term has "
      "the "
      "wrong sign; it shows at the first steps. Equation 3 as printed lacks a square and would "
      "start at 3.2, not at 3200.";
  int colour = 0;
  for (const double sigma : kSigmas) {
    const std::string name = fmt::format("gradients of size {:g}", sigma);
    f.series.push_back(simulated(
        name, frobenius_of(simulate(o, sigma, EpsilonPlace::textbook, DerivativeSign::corrected)),
        colour));
    Series printed = simulated(
        name + ", as printed",
        frobenius_of(simulate(o, sigma, EpsilonPlace::textbook, DerivativeSign::printed)), colour);
    printed.dashed = true;
    if (sigma > 0) f.series.push_back(std::move(printed));
    ++colour;
  }
  return f;
}

Figure adam_sizes(const AdamOptions& o) {
  Figure f{.id = "adam-sizes",
           .section = "Theorem 3.2: Adam",
           .x_label = "log10 of the gradients' size",
           .y_label = "condition number, Frobenius",
           .log_y = true};
  f.title = "Condition number over the size of gradients (figure 3, right)";
  f.note =
      "It is large only while gradients are smaller than epsilon: what makes Adam sensitive is "
      "vanished gradients, not early steps alone.";
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

Figure adam_norms(const AdamOptions& o) {
  Figure f{.id = "adam-norms",
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
  f.series = {simulated("Frobenius", frobenius_of(numbers), 0),
              simulated("spectral", std::move(spectral), 1)};
  return f;
}

Figure adam_epsilons(const AdamOptions& o) {
  Figure f{.id = "adam-epsilon",
           .section = "Theorem 3.2: Adam",
           .x_label = "step t",
           .y_label = "condition number, Frobenius",
           .log_y = true};
  f.title = "Where epsilon stands, at gradients of size 0";
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
          simulated(fmt::format("{}, epsilon {:g}", name, epsilon),
                    frobenius_of(simulate(other, 0, place, DerivativeSign::corrected)), -1));
    }
    if (o.setting.epsilon == 1e-8) break;
  }
  return f;
}

std::string setting_text(const AdamSetting& s) {
  return fmt::format("{} parameters, learning rate {:g}, betas {:g} and {:g}, epsilon {:g}",
                     s.parameters, s.learning_rate, s.beta1, s.beta2, s.epsilon);
}

}  // namespace

Report probe_theory(const TheoryOptions& o) {
  Report report{.title = "The theorems of ResiDual, simulated",
                .facts = {{"blocks", std::to_string(o.blocks)},
                          {"width", std::to_string(o.width)},
                          {"seed", std::to_string(o.seed)}},
                .figures = {}};
  for (const auto model : {LinearModel::post_ln, LinearModel::pre_ln, LinearModel::resi_dual}) {
    report.figures.push_back(theorem_31(model, o));
  }
  report.figures.push_back(theorem_33(o));
  report.figures.push_back(theorem_36(o));
  report.figures.push_back(corollaries(o));
  Report adam = probe_adam({.seed = o.seed});
  for (auto& figure : adam.figures) report.figures.push_back(std::move(figure));
  return report;
}

Report probe_adam(const AdamOptions& o) {
  return {.title = "The condition number of Adam's update",
          .facts = {{"setting", setting_text(o.setting)}, {"seed", std::to_string(o.seed)}},
          .figures = {adam_steps(o), adam_sizes(o), adam_norms(o), adam_epsilons(o)}};
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
    std::vector<double> spectral;
    for (const auto& n : numbers) spectral.push_back(n.spectral);
    row(fmt::format("{:g}", sigma), frobenius_of(numbers));
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
