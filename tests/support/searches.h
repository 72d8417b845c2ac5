#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "decode/search.h"
#include "support/models.h"
#include "support/sentences.h"

// Searches of small random models.
namespace residual::test {

using decode::Hypothesis;
using decode::Precision;
using decode::Request;
using decode::Search;
using decode::SearchOptions;
using decode::Weights;

inline std::shared_ptr<const Weights> small_model(uint64_t seed = 1,
                                                  Precision precision = Precision::float32) {
  return random_model(small_config(), seed).weights(precision);
}

inline std::vector<Request> random_requests(size_t count) {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < count; ++i) {
    requests.push_back({.source = random_sentence(i, Random(9).below(i, 15))});
  }
  return requests;
}

inline std::vector<std::vector<Hypothesis>> search_with(
    const SearchOptions& options, std::vector<Request> requests,
    std::shared_ptr<const Weights> model = small_model()) {
  Search search({std::move(model)}, options);
  return search_all(search, std::move(requests));
}

inline bool same(const Hypothesis& a, const Hypothesis& b) {
  return a.tokens == b.tokens && a.score == b.score && a.log_probabilities == b.log_probabilities &&
         a.attention == b.attention;
}

inline bool same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same(x, y); });
}

// One for each way of making logits.
inline std::vector<std::shared_ptr<const Weights>> models_of_each_kind() {
  std::vector<std::shared_ptr<const Weights>> models;
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8}) {
    models.push_back(small_model(1, precision));
  }
  model::Config config = small_config();
  config.width = 48;
  models.push_back(random_model(config).weights());
  EXPECT_TRUE(models.back()->output_layer().has_screen());
  return models;
}

}  // namespace residual::test
