#include "probe/adam_condition.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace residual::probe {

namespace {

// What depends on the step alone.
struct Step {
  double correction1, correction2, epsilon;

  Step(const AdamSetting& a, int64_t t)
      : correction1(1 - std::pow(a.beta1, static_cast<double>(t))),
        correction2(1 - std::pow(a.beta2, static_cast<double>(t))),
        epsilon(a.place == EpsilonPlace::textbook ? a.epsilon
                                                  : a.epsilon / std::sqrt(correction2)) {}

  double derivative(const AdamSetting& a, double m, double v, double g) const {
    const double root = std::sqrt((a.beta2 * v + (1 - a.beta2) * g * g) / correction2);
    const double direct = a.learning_rate * (1 - a.beta1) / (correction1 * (epsilon + root));
    if (root == 0) return direct;  // g = 0 and v = 0: the second term vanishes with g
    const double moment = a.beta1 * m + (1 - a.beta1) * g;
    const double second = a.learning_rate * g * (1 - a.beta2) * moment /
                          (correction1 * correction2 * root * (epsilon + root) * (epsilon + root));
    return a.sign == DerivativeSign::corrected ? direct - second : direct + second;
  }
};

}  // namespace

double update_derivative(const AdamSetting& a, int64_t t, double m, double v, double g) {
  return Step(a, t).derivative(a, m, v, g);
}

double printed_condition(const AdamSetting& a, int64_t t) {
  const double correction1 = 1 - std::pow(a.beta1, static_cast<double>(t));
  return a.learning_rate * (1 - a.beta1) / correction1 *
         std::sqrt(static_cast<double>(a.parameters) / a.epsilon);
}

std::vector<ConditionNumber> simulate_condition(const AdamSetting& a, double sigma, int64_t steps,
                                                uint64_t seed, int64_t draws) {
  if (sigma == 0) draws = 1;  // all are the same
  const auto size = static_cast<size_t>(a.parameters);
  std::vector<ConditionNumber> mean(static_cast<size_t>(steps));
  for (int64_t draw = 0; draw < draws; ++draw) {
    std::vector<double> m(size), v(size);
    for (int64_t t = 1; t <= steps; ++t) {
      const Random random(seed, static_cast<uint64_t>(draw * steps + t));
      const Step step(a, t);
      double squares = 0, largest = 0;
      for (size_t i = 0; i < size; ++i) {
        const double g = sigma == 0 ? 0 : sigma * random.normal(i);
        const double derivative = step.derivative(a, m[i], v[i], g);
        squares += derivative * derivative;
        largest = std::max(largest, std::abs(derivative));
        m[i] = a.beta1 * m[i] + (1 - a.beta1) * g;
        v[i] = a.beta2 * v[i] + (1 - a.beta2) * g * g;
      }
      ConditionNumber& at = mean[static_cast<size_t>(t) - 1];
      at.frobenius += std::sqrt(squares) / static_cast<double>(draws);
      at.spectral += largest / static_cast<double>(draws);
    }
  }
  return mean;
}

double warmup_share(int64_t t, int64_t warmup) {
  return t < warmup ? static_cast<double>(t) / static_cast<double>(warmup) : 1;
}

}  // namespace residual::probe
