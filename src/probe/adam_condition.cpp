#include "probe/adam_condition.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace residual::probe {

double update_derivative(const AdamSetting& a, int64_t t, double m, double v, double g) {
  const auto n = static_cast<double>(t);
  const double correction1 = 1 - std::pow(a.beta1, n), correction2 = 1 - std::pow(a.beta2, n);
  const double epsilon =
      a.place == EpsilonPlace::textbook ? a.epsilon : a.epsilon / std::sqrt(correction2);
  const double root = std::sqrt((a.beta2 * v + (1 - a.beta2) * g * g) / correction2);
  const double direct = a.learning_rate * (1 - a.beta1) / (correction1 * (epsilon + root));
  if (root == 0) return direct;  // g = 0 and v = 0: the second term vanishes with g
  const double moment = a.beta1 * m + (1 - a.beta1) * g;
  const double second = a.learning_rate * g * (1 - a.beta2) * moment /
                        (correction1 * correction2 * root * (epsilon + root) * (epsilon + root));
  return a.sign == DerivativeSign::corrected ? direct - second : direct + second;
}

double printed_condition(const AdamSetting& a, int64_t t) {
  const double correction1 = 1 - std::pow(a.beta1, static_cast<double>(t));
  return a.learning_rate * (1 - a.beta1) / correction1 *
         std::sqrt(static_cast<double>(a.parameters) / a.epsilon);
}

std::vector<ConditionNumber> simulate_condition(const AdamSetting& a, double sigma, int64_t steps,
                                                uint64_t seed) {
  const auto size = static_cast<size_t>(a.parameters);
  std::vector<double> m(size), v(size);
  std::vector<ConditionNumber> found;
  for (int64_t t = 1; t <= steps; ++t) {
    const Random random(seed, static_cast<uint64_t>(t));
    double squares = 0, largest = 0;
    for (size_t i = 0; i < size; ++i) {
      const double g = sigma * random.normal(i);
      const double derivative = update_derivative(a, t, m[i], v[i], g);
      squares += derivative * derivative;
      largest = std::max(largest, std::abs(derivative));
      m[i] = a.beta1 * m[i] + (1 - a.beta1) * g;
      v[i] = a.beta2 * v[i] + (1 - a.beta2) * g * g;
    }
    found.push_back({.frobenius = std::sqrt(squares), .spectral = largest});
  }
  return found;
}

}  // namespace residual::probe
