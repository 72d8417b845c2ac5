// Imported models of Hugging Face's library have that library's logits (tests/fixtures/README.md).

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "decode/score.h"
#include "interop/hugging_face.h"
#include "interop/hugging_face_names.h"
#include "support/paths.h"
#include "support/temporary.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

class HuggingFaceModels : public testing::TestWithParam<std::string> {};

TEST_P(HuggingFaceModels, HaveTheLibrarysLogits) {
  const test::TemporaryDirectory directory;
  const fs::path from = fs::path(test::fixtures()) / "hugging-face" / GetParam();
  interop::import_hugging_face({.directory = from}, directory / "model");
  const auto opened =
      std::make_shared<model::Directory>(model::Directory::open(directory / "model"));
  const model::Config& c = opened->description().model;
  constexpr int64_t kSymbols = 41;
  const interop::Renumbering numbers(opened->description().model.special_numbers, kSymbols);

  const auto expected = model::SafeTensors::open(from / "logits.safetensors");
  const auto& given = expected.at("ids");
  std::vector<int32_t> theirs(static_cast<size_t>(given.size())), ids;
  std::memcpy(theirs.data(), given.bytes.data(), given.bytes.size());
  for (const int32_t number : theirs) {
    int32_t id = 0;
    while (numbers.theirs(id) != number || numbers.is_extra(id)) ++id;
    ids.push_back(id);
  }

  Engine engine(load_weights(opened, Precision::float32, c.kind));
  std::vector<float> logits(ids.size() * c.output_vocabulary());
  if (c.kind == model::Kind::masked) {
    const std::span<const int32_t> source = ids;
    const Rows rows = engine.predictors(engine.encode_rows({&source, 1}, nullptr), nullptr);
    engine.project(rows, 0, rows.rows(), logits.data(), nullptr);
  } else {
    std::vector<int32_t> target(ids.begin() + 1, ids.end());
    target.push_back(text::Vocabulary::kEos);
    logits = forced_logits(engine, {{}, target});
  }
  const auto want = expected.at("logits").to_float();
  ASSERT_EQ(want.size(), ids.size() * kSymbols);
  for (size_t row = 0; row < ids.size(); ++row) {
    const auto some = std::span(logits).subspan(row * c.output_vocabulary(), c.output_vocabulary());
    const auto got = numbers.to_theirs(some, 1);
    for (int64_t j = 0; j < kSymbols; ++j)
      ASSERT_NEAR(got[j], want[row * kSymbols + j], 1e-4) << row << ' ' << j;
    for (int32_t id = 0; id < c.output_vocabulary(); ++id)
      EXPECT_EQ(numbers.is_extra(id), some[id] < -1e7F) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, HuggingFaceModels, testing::Values("llama", "gpt2", "bert"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace residual::decode
