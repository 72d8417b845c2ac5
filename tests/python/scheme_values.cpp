// Prints, as JSON, what every scheme makes of blocks f_k(x) = strength tanh(W_k x) on doubles, and
// how its output changes when the input does: what residual.torch is compared with.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/config_json.h"
#include "schemes/make.h"
#include "support/double_arithmetic.h"

namespace residual::schemes {
namespace {

using A = test::DoubleArithmetic;
using nlohmann::json;
using test::Rows;

constexpr size_t kWidth = 6, kRows = 3;
constexpr double kStrength = 0.7, kStep = 1e-6;

// Numbers from -1 to 1 that Python can make too.
double number(size_t i) {
  const double x = static_cast<double>((i * 7919 + 104729) % 65537) / 65537;
  return 2 * x - 1;
}

Rows rows_from(size_t first) {
  Rows x{.width = kWidth, .at = std::vector<double>(kRows * kWidth)};
  for (size_t i = 0; i < x.at.size(); ++i) x.at[i] = number(first + i);
  return x;
}

class TanhBlocks : public Blocks<A> {
 public:
  explicit TanhBlocks(const Stack& stack) : Blocks(stack.blocks(), stack.blocks_per_layer) {}

  Rows operator()(int k, const Rows& x) const override {
    Rows out = x;
    for (size_t i = 0; i < out.at.size(); ++i) {
      const size_t row = i / kWidth * kWidth, column = i % kWidth;
      double sum = 0;
      for (size_t j = 0; j < kWidth; ++j)
        sum += number(1000 + (k * kWidth + column) * kWidth + j) * x.at[row + j];
      out.at[i] = kStrength * std::tanh(sum);
    }
    return out;
  }
};

json values_of(const Choice& choice, const Stack& stack) {
  A a(kWidth);
  const auto scheme = make(a, stack, choice);
  size_t at = 5000;
  json parameters = json::object();
  for (const auto& [name, values] : a.parameters()) {  // away from the values they start with
    for (double& value : *values) value += 0.3 * number(at++);
    parameters[name] = *values;
  }
  const TanhBlocks blocks(stack);
  const Rows x = rows_from(0), direction = rows_from(300);
  const auto moved = [&](double step) {
    return scheme->forward(add(x, step, direction), blocks).at;
  };
  const auto output = moved(0), above = moved(kStep), below = moved(-kStep);
  std::vector<double> slope;
  for (size_t i = 0; i < above.size(); ++i) slope.push_back((above[i] - below[i]) / (2 * kStep));
  json calibrated = json::object();
  if (scheme->calibrates()) {
    scheme->calibrate(x, blocks);
    for (const auto& [name, values] : a.parameters()) calibrated[name] = *values;
  }
  return {{"scheme", choice.name},
          {"side", stack.side == Side::encoder ? "encoder" : "decoder"},
          {"layers", stack.layers},
          {"other_layers", stack.other_layers},
          {"per_layer", stack.blocks_per_layer},
          {"parameters", parameters},
          {"output", output},
          {"slope", slope},
          {"calibrated", calibrated}};
}

}  // namespace
}  // namespace residual::schemes

int main() {
  using namespace residual;  // NOLINT(google-build-using-namespace)
  using schemes::Side;
  auto all = nlohmann::json::array();
  const auto add = [&](const nlohmann::json& options) {
    schemes::Choice choice;
    read_json(options, ConfigFields([&](ConfigVisitor& visit) { fields(visit, choice); }));
    for (const auto& stack : {schemes::Stack{Side::encoder, 3, 2, 2}, {Side::decoder, 2, 3, 3}}) {
      all.push_back(schemes::values_of(choice, stack));
      all.back()["options"] = options;
    }
  };
  for (const auto& entry : schemes::registry()) {
    if (entry.variants.empty()) add({{"name", entry.name}});
    for (const auto& variant : entry.variants) add({{"name", entry.name}, {"variant", variant}});
  }
  // Options that change the course of a scheme.
  add({{"name", "resi-dual"}, {"eta", 0}, {"output_scale", 0.5}});
  add({{"name", "resi-dual"}, {"dual_from_zero", true}});
  add({{"name", "denseformer"}, {"dilation", 2}, {"period", 2}});
  add({{"name", "attention-residuals"}, {"group", 2}});
  std::puts(all.dump().c_str());
}
