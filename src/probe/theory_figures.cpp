// Figures of the paper's theorems: as printed, as they follow, and as simulated.

#include <fmt/format.h>

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
report::Series curve(std::string name, int first, int last, const F& f, int colour) {
  report::Series s{.name = std::move(name), .dashed = true, .colour = colour};
  for (int k = first; k <= last; ++k) {
    s.x.push_back(k);
    s.y.push_back(f(k));
  }
  return s;
}

// Values are relative to block 1, because the theorem gives growth, not size.
report::Series relative(report::Series s) {
  const double first = s.y.front();
  for (double& y : s.y) y /= first;
  return s;
}

report::Figure theorem_31(LinearModel model, const TheoryOptions& o) {
  const int n = o.blocks;
  report::Figure f{.section = "Theorem 3.1: gradients",
                   .x_label = "block k",
                   .y_label = "gradient norm, relative to block 1",
                   .log_y = true};
  const report::Series simulation = relative(report::counted(
      kSimulated,
      simulate_linear_gradients(model, n, o.width, kTrials, static_cast<uint64_t>(o.seed)), 0));
  switch (model) {
    case LinearModel::post_ln:
      f.id = "theorem-3-1-post-ln";
      f.title = "Post-LN, equation 1";
      f.note =
          "Does not follow. With branches that keep the norm, a gradient grows by sqrt(2) at every "
          "I + W^T, not like e^sqrt(N-k), and that cancels the norms' 1/sqrt(2): the linear model "
          "predicts no vanishing. Real models vanish because branches add variance without handing "
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
                  relative(curve(
                      kFollows, 1, n, [&](int k) { return linear_pre_ln_gradient(k, n); }, 0)),
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
          "Does not follow, as (1) and (2) do not. What follows: the dual stream hands every block "
          "the "
          "same gradient, of order 1/sqrt(N), so that no block gets less of it than another.";
      f.series = {simulation, relative(curve(
                                  "printed: the larger of (1) and (2)", 1, n - 2,
                                  [&](int k) { return printed_resi_dual_gradient(k, n); }, 1))};
      break;
  }
  return f;
}

report::Figure theorem_33(const TheoryOptions& o) {
  const auto stack =
      simulate_gaussian_stack("pre-ln", o.blocks, o.width, 1, static_cast<uint64_t>(o.seed));
  report::Figure f{.id = "theorem-3-3",
                   .section = "Theorems 3.3 to 3.7: representations",
                   .title = "Pre-LN: change between blocks (3.3, 3.4)",
                   .x_label = "block k",
                   .y_label = "E|x(k+1) - x(k)|"};
  f.note =
      "Holds exactly for Gaussian, independent branches. The theorem leaves the embedding out of "
      "the sum and so is undefined at k = 1; with it, block k has the theorem's k + 1.";
  f.series = {report::counted("simulated", stack.change, 0),
              curve(
                  "theorem 3.3", 1, o.blocks - 1, [](int k) { return pre_ln_change(k + 1); }, 1)};
  return f;
}

report::Figure theorem_36(const TheoryOptions& o) {
  report::Figure f{.id = "theorem-3-6",
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
    f.series.push_back(report::counted(fmt::format("variance {}", name), stack.change, colour));
    f.series.push_back(curve(
        fmt::format("theorem, {}", name), 1, o.blocks - 1,
        [v = variance](int) { return post_ln_change(v); }, colour));
    ++colour;
  }
  return f;
}

report::Figure corollaries(const TheoryOptions& o) {
  report::Figure f{.id = "corollaries-3-5-3-7",
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
    f.series.push_back(report::counted(
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

}  // namespace

report::Report probe_theory(const TheoryOptions& o) {
  report::Report report{.title = "The theorems of ResiDual, simulated",
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
  report::Report adam = probe_adam({.seed = o.seed});
  for (auto& figure : adam.figures) report.figures.push_back(std::move(figure));
  return report;
}

}  // namespace residual::probe
