#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The paper's theorems as printed, as they follow from their assumptions, and as simulations of
// these assumptions. Blocks count from 1 here, as in the paper. docs/theory.md has the arguments.
namespace residual::probe {

// Theorem 3.1 as printed: gradients of block k of n, up to a constant factor.
double printed_post_ln_gradient(int k, int n);  // (1): (1/2)^((n - k) / 2) e^sqrt(n - k)
double printed_pre_ln_gradient(int k, int n);   // (2): sqrt(log(n - k) / n); k < n
double proved_pre_ln_gradient(int k, int n);    // appendix A's last line: log(n - k) / sqrt(n)

// The correct consequence of section 3.1's assumptions. With f(x) = W x and |W x| = |x|, a vector
// grows by sqrt(2) at each I + W^T, which cancels the norm's 1 / sqrt(2): Post-LN's gradients do
// not vanish. Pre-LN's product of I + W^T / sqrt(l) over l > k grows by sqrt(1 + 1 / l) each, to
// sqrt((n + 1) / (k + 1)), so that gradients are largest at the bottom.
double linear_post_ln_gradient(int k, int n);  // 1
double linear_pre_ln_gradient(int k, int n);   // that times 1 / sqrt(n)

double printed_resi_dual_gradient(int k, int n);  // (5): the larger of (1) and (2); k < n

enum class LinearModel { post_ln, pre_ln, resi_dual };

// The assumptions simulated: W_l with entries N(0, 1 / width), a gradient of norm 1 at the top,
// brought down to the output of each block. Element k - 1 is block k's norm, averaged over trials.
// ResiDual uses the exact recursion: every block's output receives the same gradient of the dual
// stream, besides the gradient through the Post-LN stream.
std::vector<double> simulate_linear_gradients(LinearModel model, int blocks, int width, int trials,
                                              uint64_t seed);

// Theorem 3.3 and corollary 3.4: E|x_{k+1} - x_k| per coordinate in Pre-LN whose stream is a sum
// of k - 1 equal addends before block k; k >= 2. sqrt(2 / pi) omega_k,
// omega_k^2 = 2 / (sqrt(k) (sqrt(k - 1) + sqrt(k))) = 2 - 2 sqrt((k - 1) / k).
double pre_ln_change(int k);

// Theorem 3.6: omega^2 = 2 - 2 / sqrt(1 + sigma^2) for every k, for branches of variance sigma^2.
double post_ln_variance(double branch_variance);
double post_ln_change(double branch_variance);  // sqrt(2 / pi) omega

struct StackSimulation {
  std::vector<double> change;         // E|x_{k+1} - x_k|, k = 1 ... blocks - 1
  std::vector<double> output_change;  // E|y_n - y_{n-1}|, n = 1 ... blocks: one block added
};

// Simulates the assumption of theorems 3.3 and 3.6: branches are N(0, sigma^2), independent of
// everything, including the block's input; the embedding is N(0, 1). The scheme's code is the real
// one.
StackSimulation simulate_gaussian_stack(const std::string& scheme, int blocks, int width,
                                        double branch_variance, uint64_t seed);

}  // namespace residual::probe
