// Schemes against numbers of their authors' code (tests/fixtures/README.md).

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schemes/toy_blocks.h"
#include "support/paths.h"

namespace residual::schemes {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<double>;

// f_k(x) = tanh(W_k x) of the fixture.
class GivenBlocks : public Blocks<A> {
 public:
  GivenBlocks(std::vector<Numbers> w, int per_layer)
      : Blocks(static_cast<int>(w.size()), per_layer), w_(std::move(w)) {}

  Rows operator()(int k, const Rows& x) const override {
    Rows out = x;
    for (size_t at = 0; at < x.at.size(); ++at) {
      const size_t row = at / x.width, i = at % x.width;
      double sum = 0;
      for (size_t j = 0; j < x.width; ++j) sum += w_[k][i * x.width + j] * x.at[row * x.width + j];
      out.at[at] = std::tanh(sum);
    }
    return out;
  }

 private:
  std::vector<Numbers> w_;
};

Choice choice_of(const nlohmann::json& given) {
  Choice choice;
  read_toml(given.at("residual").get<std::string>(), "fixture",
            [&](ConfigVisitor& visit) { fields(visit, choice); });
  return choice;
}

std::vector<std::string> fixtures_of_authors() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(test::fixtures()) / "schemes"))
    names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class AuthorsCode : public testing::TestWithParam<std::string> {};

TEST_P(AuthorsCode, GivesTheSameOutput) {
  std::ifstream file(fs::path(test::fixtures()) / "schemes" / (GetParam() + ".json"));
  const auto given = nlohmann::json::parse(file);
  const Stack stack = {.layers = given.at("layers"), .other_layers = 0};
  A a(given.at("width"));
  const auto scheme = make(a, stack, choice_of(given));
  const auto& parameters = given.at("parameters");
  EXPECT_EQ(parameters.size(), a.parameters().size());
  for (const auto& [name, values] : a.parameters()) {
    const auto numbers = parameters.at(name).get<Numbers>();
    ASSERT_EQ(numbers.size(), values->size()) << name;
    *values = numbers;
  }
  const GivenBlocks f(given.at("blocks"), stack.blocks_per_layer);
  ASSERT_EQ(f.size(), stack.blocks());
  const Rows y = scheme->forward({.width = given.at("width"), .at = given.at("x")}, f);
  const Rows want = {.width = y.width, .at = given.at("y")};
  EXPECT_LT(largest_difference(y, want), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, AuthorsCode, testing::ValuesIn(fixtures_of_authors()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace residual::schemes
