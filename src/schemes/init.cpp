#include "schemes/init.h"

#include <numbers>

namespace residual::schemes {
namespace {

constexpr double kStacked = 1 / std::numbers::sqrt2;  // q, k, v as one [3d, d] Xavier matrix

bool is_qkv(Role role) { return role == Role::query || role == Role::key || role == Role::value; }

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

bool is_on_the_value_path(Role role) {
  return role == Role::value || role == Role::output || role == Role::inner || role == Role::outer;
}

}  // namespace residual::schemes
