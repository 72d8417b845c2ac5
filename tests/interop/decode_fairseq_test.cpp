// The engine against fairseq's own numbers: logits of whole targets, hypotheses of every rank.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "decode/score.h"
#include "decode/search.h"
#include "support/models.h"
#include "support/paths.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

using model::SafeTensors;
using testing::ElementsAreArray;

SafeTensors data(const std::string& name) {
  return SafeTensors::open(fs::path(test::fixtures()) / "fairseq" / (name + ".safetensors"));
}

// Row `row` of a tensor [..., columns] without padding; the file need not align it.
std::vector<int32_t> ids(const model::TensorView& tensor, int64_t row = 0) {
  const int64_t columns = tensor.shape.back();
  std::vector<int32_t> out;
  for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
    int64_t id = 0;
    std::memcpy(&id, tensor.bytes.data() + i * sizeof(id), sizeof(id));
    if (id != text::Vocabulary::kPad) out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

class FairseqLogits : public testing::TestWithParam<std::string> {};

TEST_P(FairseqLogits, AreTheEnginesForEveryTargetToken) {
  const SafeTensors file = data(GetParam());
  const auto made = test::fairseq_model(file);
  Engine engine(made.weights());
  const auto logits = file.at("out.logits").values<float>();
  const int64_t batch = file.at("batch.source").shape[0];
  const int64_t target_length = file.at("batch.target").shape[1];
  const int64_t vocabulary = made.config.target_vocabulary;
  for (int64_t b = 0; b < batch; ++b) {
    const Pair pair = {ids(file.at("batch.source"), b), ids(file.at("batch.target"), b)};
    const auto got = forced_logits(engine, pair);
    const float* want = logits.data() + b * target_length * vocabulary;
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-5) << b << ' ' << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FairseqLogits,
                         testing::Values("post-ln-e2d2", "pre-ln-e2d2", "resi-dual-e2d2",
                                         "resi-dual-eta-e2d2"));

class FairseqBeam
    : public testing::TestWithParam<std::tuple<std::string, std::pair<int, std::string>>> {};

TEST_P(FairseqBeam, FindsTheSameHypothesesAtEveryRank) {
  const auto& [model, settings] = GetParam();
  const auto& [beam, penalty] = settings;
  const SafeTensors file = data(model + "-beam");
  SearchOptions options;
  options.beam = options.n_best = beam;
  options.length_penalty = std::stod(penalty);
  options.max_length_factor = 1.2;
  Search search({test::fairseq_model(file).weights()}, options);

  std::vector<Request> requests;
  for (int i = 0; file.contains(fmt::format("source.{}", i)); ++i) {
    requests.push_back({.source = ids(file.at(fmt::format("source.{}", i)))});
  }
  ASSERT_EQ(requests.size(), 24U);
  const auto results = search_all(search, requests);
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].size(), static_cast<size_t>(beam));
    for (int rank = 0; rank < beam; ++rank) {
      const auto name = fmt::format("beam{}.lenpen{}.{}.rank{}", beam, penalty, i, rank);
      SCOPED_TRACE(name);
      EXPECT_THAT(results[i][rank].tokens, ElementsAreArray(ids(file.at(name + ".tokens"))));
      EXPECT_NEAR(results[i][rank].score, file.at(name + ".score").to_float()[0], 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FairseqBeam,
                         testing::Combine(testing::Values("post-ln", "pre-ln", "resi-dual"),
                                          testing::Values(std::pair(1, "1.0"), std::pair(4, "0.6"),
                                                          std::pair(5, "1.0"))));

}  // namespace
}  // namespace residual::decode
