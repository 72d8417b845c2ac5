#pragma once

#include <cstdint>
#include <vector>

// The absolute condition number of Adam's update u(g), theorem 3.2 and figure 3: how much the
// update moves when the gradient moves a little. u works element by element, so its Jacobian is
// diagonal.
namespace residual::probe {

// The place of epsilon: u = a m^ / (sqrt(v^) + eps) with bias-corrected moments (textbook), or
// with v not yet corrected, u = a sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps) (fairseq's
// Adam), which is the textbook's with eps / sqrt(1 - b2^t).
enum class EpsilonPlace { textbook, fairseq };

// The sign of the term of du/dg that has g as a factor, which equation 6 prints first. The
// derivative subtracts it; the paper adds it.
enum class DerivativeSign { corrected, printed };

// The setting of appendix B.
struct AdamSetting {
  int64_t parameters = 1024;
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-6;
  EpsilonPlace place = EpsilonPlace::textbook;
  DerivativeSign sign = DerivativeSign::corrected;
};

// Returns du/dg of one element at step t >= 1; m and v are those of step t - 1.
double update_derivative(const AdamSetting& setting, int64_t t, double m, double v, double g);

// The definition, a supremum over directions, is the spectral norm of the Jacobian; the paper
// computes the Frobenius norm, larger by up to sqrt(parameters).
struct ConditionNumber {
  double frobenius = 0;
  double spectral = 0;
};

// Equation 3 as printed, with v = 0: without the square inside the sum.
double printed_condition(const AdamSetting& setting, int64_t t);

// Simulates appendix B. Every step draws a gradient from N(0, sigma^2) for each parameter, computes
// the condition number, then updates Adam's moments. Element t - 1 is step t. The result is the
// mean of `draws` simulations: where sigma >> epsilon, the few smallest gradients make up the
// condition number of the first steps, which one simulation gets right to 20 % only.
std::vector<ConditionNumber> simulate_condition(const AdamSetting& setting, double sigma,
                                                int64_t steps, uint64_t seed, int64_t draws = 1);

// The share of the learning rate that a linear warm-up over `warmup` updates has reached at step t.
// The condition number is proportional to the learning rate.
double warmup_share(int64_t t, int64_t warmup);

}  // namespace residual::probe
