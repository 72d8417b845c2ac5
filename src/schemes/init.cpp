#include "schemes/init.h"

#include <cmath>
#include <numbers>

#include "schemes/deepnorm.h"

namespace residual::schemes {
namespace {

constexpr double kStacked = 1 / std::numbers::sqrt2;  // q, k, v as one [3d, d] Xavier matrix

bool is_qkv(Role role) { return role == Role::query || role == Role::key || role == Role::value; }

// The roles whose size bounds how far a block moves its input.
bool is_on_the_value_path(Role role) {
  return role == Role::value || role == Role::output || role == Role::inner || role == Role::outer;
}

}  // namespace

Init init_fairseq(Role role) {
  if (role == Role::embedding) return {.law = Law::normal_width};
  if (is_qkv(role)) return {.law = Law::xavier_uniform, .gain = kStacked, .bias_gain = 1};
  if (role == Role::output) return {.law = Law::xavier_uniform};
  return {.law = Law::fan_in_uniform, .bias_gain = 1};
}

Init init_xavier(Role role) {
  if (role == Role::embedding) return {.law = Law::normal_width};
  return {.law = Law::xavier_uniform, .gain = is_qkv(role) ? kStacked : 1};
}

Init init_b2t(Role role, const Stack& stack, const Options& options) {
  Init init = init_fairseq(role);
  if (options.variant == "scaled" && role != Role::embedding) init.gain /= std::sqrt(stack.layers);
  return init;
}

Init init_deepnorm(Role role, const Stack& stack, const Options& options) {
  if (options.variant == "torchscale") {
    // Microsoft's torchscale divides by X / 1.15 in the encoder, X = (N^4 M)^(1/16), where the
    // paper's 0.87 / X means 1.15 X; the decoder agrees with the paper. Biases are scaled too.
    Init init = init_fairseq(role);
    const bool inverted = stack.side == Side::encoder && stack.other_layers > 0;
    const double factor = deepnorm_beta(stack) * (inverted ? 1.15 / 0.87 : 1);
    if (is_on_the_value_path(role)) {
      init.gain *= factor;
      init.bias_gain *= factor;
    }
    return init;
  }
  if (role == Role::embedding) return {.law = Law::normal_width};
  return {.law = Law::xavier_normal, .gain = is_on_the_value_path(role) ? deepnorm_beta(stack) : 1};
}

Init init_t_fixup(Role role, const Stack& stack) {
  // Encoder 0.67 N^(-1/4), decoder and embeddings (9 N)^(-1/4): the authors' fixup_initialization.
  const double decoder = std::pow(9.0 * stack.layers, -0.25);
  const double factor =
      stack.side == Side::encoder ? 0.67 * std::pow(stack.layers, -0.25) : decoder;
  Init init = init_xavier(role);
  if (role == Role::value) init.gain = 1;
  if (role == Role::embedding) init.gain = decoder;
  if (is_on_the_value_path(role)) init.gain *= factor;
  return init;
}

}  // namespace residual::schemes
