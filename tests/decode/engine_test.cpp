#include "decode/engine.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "decode/score.h"
#include "decode/search.h"
#include "schemes/registry.h"
#include "support/double_transformer.h"
#include "support/models.h"
#include "support/sentences.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::small_config;

// Every scheme in every variant.
std::vector<schemes::Choice> all_schemes() {
  std::vector<schemes::Choice> all;
  for (const auto& entry : schemes::registry()) {
    auto variants = entry.variants;
    if (variants.empty()) variants.emplace_back();
    for (const auto& variant : variants) all.push_back({.name = entry.name, .variant = variant});
  }
  return all;
}

class EveryScheme : public testing::TestWithParam<schemes::Choice> {
 protected:
  test::ModelValues made() const {
    model::Config config = small_config();
    config.residual = GetParam();
    return random_model(config);
  }
};

TEST_P(EveryScheme, DecodesWhatItsDefinitionInDoublesGives) {
  const auto model = made();
  const test::DoubleTransformer exact(model.config, model.values);
  Engine engine(model.weights());
  for (uint64_t i = 0; i < 4; ++i) {
    const Pair pair = {random_sentence(2 * i, 1 + 4 * i), random_sentence(2 * i + 1, 6)};
    const auto got = forced_logits(engine, pair);
    const auto want = exact.logits(pair.source, pair.target).at;
    ASSERT_EQ(got.size(), want.size());
    for (size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-4) << j;
  }
}

TEST_P(EveryScheme, DecodesTokenByTokenWhatOnePassGives) {
  const auto model = made();
  Engine engine(model.weights());
  const Pair pair = {random_sentence(1, 7), random_sentence(2, 9)};
  const auto whole = forced_logits(engine, pair);

  const std::span<const int32_t> source = pair.source;
  const auto memories = engine.encode({&source, 1}, nullptr);
  const Step::Sentence sentence = {memories.data(), 1};
  const int64_t vocabulary = model.config.target_vocabulary;
  std::vector<int32_t> slots;
  std::vector<float> logits(vocabulary);
  for (int32_t i = 0; i < static_cast<int32_t>(pair.target.size()); ++i) {
    slots.push_back(20 - i);  // any slot will do
    const int32_t token = i == 0 ? text::Vocabulary::kEos : pair.target[i - 1];
    const int32_t position = i + 1;
    const Rows hidden = engine.decode({.tokens = {&token, 1},
                                       .positions = {&position, 1},
                                       .slots = slots.data(),
                                       .slot_stride = 32,
                                       .slot_count = 21,
                                       .sentences = {&sentence, 1}},
                                      nullptr);
    engine.project(hidden, 0, 1, logits.data(), nullptr);
    for (int64_t v = 0; v < vocabulary; ++v) ASSERT_EQ(logits[v], whole[i * vocabulary + v]);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryScheme, testing::ValuesIn(all_schemes()),
                         [](const auto& tested) {
                           std::string name = tested.param.name + "_" + tested.param.variant;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Of float32 models, those whose width is a multiple of sixteen have a screen.
model::Config screened_config() {
  model::Config config = small_config();
  config.width = 48;
  return config;
}

TEST(Engine, GivesRowsThatDoNotDependOnTheirNeighbours) {
  std::vector<std::shared_ptr<const Weights>> models = {random_model(screened_config()).weights()};
  EXPECT_TRUE(models[0]->output_layer().has_screen());
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8}) {
    models.push_back(random_model(small_config()).weights(precision));
    EXPECT_FALSE(models.back()->output_layer().has_screen());
  }
  for (const auto& model : models) {
    Engine engine(model);
    std::vector<Pair> pairs;
    for (uint64_t i = 0; i < 9; ++i) {
      pairs.push_back({random_sentence(i, 1 + i * 3), random_sentence(i + 100, 30 - 3 * i)});
    }
    const auto together = score({&engine, 1}, pairs);
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(score({&engine, 1}, {&pairs[i], 1})[0], together[i]);
    }
  }
}

TEST(Engine, SummarisesTheLogitsThatItProjects) {
  model::Config config = small_config();
  config.source_vocabulary = config.target_vocabulary = 3001;  // several parts of many rows
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8}) {
    const auto weights = random_model(config).weights(precision);
    Engine engine(weights);
    RowPool pool(config.width);
    const Rows hidden = pool.take(201);
    for (int64_t i = 0; i < hidden.size(); ++i) {
      hidden.data()[i] = static_cast<float>(Random(5).uniform(i)) - 0.5F;
    }
    std::vector<float> logits(hidden.rows() * 3001);
    engine.project(hidden, 0, hidden.rows(), logits.data(), nullptr);
    Team team(2);
    for (const int64_t count : {1, 5, 200}) {
      for (Team* helpers : {static_cast<Team*>(nullptr), &team}) {
        std::vector<kernels::Scored> best(count * 10), want(10);
        std::vector<kernels::RowSummary> rows;
        for (int64_t i = 0; i < count; ++i) {
          const auto asked = static_cast<int32_t>(i * 15);
          rows.push_back({.k = 10, .best = &best[i * 10], .asked = {.index = asked}});
        }
        engine.summarise(hidden, 1, rows, helpers);
        for (int64_t i = 0; i < count; ++i) {
          const float* row = logits.data() + (i + 1) * 3001;
          EXPECT_EQ(rows[i].log_sum_exp(), kernels::best_of_row(row, 3001, 10, want.data()));
          EXPECT_EQ(rows[i].asked.value, row[i * 15]);
          for (int j = 0; j < 10; ++j) ASSERT_EQ(best[i * 10 + j].index, want[j].index) << i;
        }
      }
    }
  }
}

// As above, but for the normaliser: flat rows and such that a few symbols share, down to one.
TEST(Engine, CorrectsWhatItsScreenFinds) {
  constexpr int kVocabulary = 3001, kRows = 200;
  for (const float spread : {0.0F, 0.1F, 1.0F, 10.0F, 100.0F}) {
    model::Config config = screened_config();
    config.source_vocabulary = config.target_vocabulary = kVocabulary;
    const auto weights = random_model(config).weights();
    Engine engine(weights);
    RowPool pool(config.width);
    const Rows hidden = pool.take(kRows);
    for (int64_t i = 0; i < hidden.size(); ++i) {
      hidden.data()[i] = spread * static_cast<float>(Random(5).normal(i));
    }
    std::vector<float> logits(kRows * kVocabulary);
    engine.project(hidden, 0, kRows, logits.data(), nullptr);
    for (const int k : {0, 1, 10, 60, OutputLayer::kMostBest}) {
      std::vector<kernels::Scored> best(kRows * k), want(k);
      std::vector<kernels::RowSummary> rows;
      for (int32_t i = 0; i < kRows; ++i) {
        rows.push_back({.k = k, .best = best.data() + i * k, .asked = {.index = i * 15}});
      }
      engine.summarise(hidden, 0, rows, nullptr);
      for (int64_t i = 0; i < kRows; ++i) {
        const float* row = logits.data() + i * kVocabulary;
        const float normaliser = kernels::best_of_row(row, kVocabulary, k, want.data());
        ASSERT_NEAR(rows[i].log_sum_exp(), normaliser, 1e-5 + 1e-6 * std::abs(normaliser));
        ASSERT_EQ(rows[i].asked.value, row[i * 15]);
        ASSERT_EQ(rows[i].found, k);
        for (int j = 0; j < k; ++j) {
          ASSERT_EQ(best[i * k + j].index, want[j].index) << spread << ' ' << i << ' ' << j;
          ASSERT_EQ(best[i * k + j].value, want[j].value);
        }
      }
    }
  }
}

TEST(Engine, GivesBackOnlyALargeCache) {
  Engine engine(random_model(small_config()).weights());
  const std::vector<int32_t> source = {5, 2}, token = {2}, position = {1};
  const std::vector<std::span<const int32_t>> sources = {source};
  const auto memories = engine.encode(sources, nullptr);
  const Step::Sentence sentence = {&memories[0], 1};
  const auto cache_after = [&](int32_t slot) {
    engine.decode({.tokens = token,
                   .positions = position,
                   .slots = &slot,
                   .slot_stride = 1,
                   .slot_count = slot + 1,
                   .sentences = {&sentence, 1}},
                  nullptr);
    engine.release_large();
    return engine.cache_bytes();
  };
  EXPECT_GT(cache_after(9), 0u);
  EXPECT_EQ(cache_after(500'000), 0u);  // 320 MB
  EXPECT_GT(cache_after(9), 0u);
}

TEST(Engine, GivesTheSameBitsAloneAndWithATeam) {
  model::Config config = small_config();
  config.width = 192;  // several panels and enough work that there is something to share
  config.heads = 4;
  config.inner = 500;
  Engine engine(random_model(config).weights());
  const std::vector<Pair> pairs = {{random_sentence(1, 9), random_sentence(2, 12)}};
  const auto alone = score({&engine, 1}, pairs);
  for (const int threads : {2, 3}) {
    Team team(threads);
    EXPECT_EQ(score({&engine, 1}, pairs, &team), alone);
  }
}

TEST(Engine, KeepsCloseToFloat32WithSmallerWeights) {
  const auto model = random_model(small_config());
  const Pair pair = {random_sentence(1, 12), random_sentence(2, 12)};
  Engine exact(model.weights());
  const auto want = score({&exact, 1}, {&pair, 1})[0];
  const std::map<Precision, double> allowed = {{Precision::float16, 0.01}, {Precision::int8, 0.15}};
  for (const auto& [precision, tolerance] : allowed) {
    Engine engine(model.weights(precision));
    const auto got = score({&engine, 1}, {&pair, 1})[0];
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance);
  }
}

// Matrices as `residual export` stores them: int8 and one scale per row.
TEST(Weights, AreTheSameWhetherInt8IsStoredOrMadeAtLoad) {
  const auto model = random_model(small_config());
  std::map<std::string, std::pair<std::vector<int8_t>, std::vector<float>>> stored;
  for (const auto& p : model::parameters(model.config)) {
    if (p.shape.size() < 2) continue;
    auto& [weights, scales] = stored[p.name];
    weights.resize(p.size());
    scales.resize(p.shape[0]);
    kernels::quantize(model.values.at(p.name).data(), static_cast<int>(p.shape[0]),
                      static_cast<int>(p.shape[1]), weights.data(), scales.data());
  }
  const auto find = [&](const std::string& name) -> Values {
    if (!stored.contains(name)) return Float32{.numbers = model.values.at(name)};
    return Int8{.numbers = stored.at(name).first, .scales = stored.at(name).second};
  };
  Engine loaded(
      std::make_shared<Weights>(model.config, find, Precision::float32, std::shared_ptr<void>()));
  Engine made(model.weights(Precision::int8));
  const Pair pair = {random_sentence(1, 12), random_sentence(2, 12)};
  EXPECT_EQ(forced_logits(loaded, pair), forced_logits(made, pair));
}

// A float16 file.
TEST(Weights, AreTheSameWhetherHalvesAreRoundedWhereTheyAreOrWidenedFirst) {
  auto model = random_model(small_config());
  std::map<std::string, std::vector<uint16_t>> stored;
  for (const auto& p : model::parameters(model.config)) {
    if (p.shape.size() < 2) continue;
    auto& numbers = model.values.at(p.name);
    auto& halves = stored[p.name];
    halves.resize(numbers.size());
    kernels::halve(numbers.data(), 1, static_cast<int64_t>(numbers.size()), halves.data());
    kernels::widen(halves.data(), static_cast<int64_t>(halves.size()), numbers.data());
  }
  const auto find = [&](const std::string& name) -> Values {
    if (!stored.contains(name)) return Float32{.numbers = model.values.at(name)};
    return Float16{.numbers = stored.at(name)};
  };
  const Pair pair = {random_sentence(1, 12), random_sentence(2, 12)};
  for (const Precision precision : {Precision::float16, Precision::int8}) {
    Engine loaded(
        std::make_shared<Weights>(model.config, find, precision, std::shared_ptr<void>()));
    Engine made(model.weights(precision));
    EXPECT_EQ(forced_logits(loaded, pair), forced_logits(made, pair));
  }
}

// Matrices as `residual export --precision packed` stores them; of width 192 they are used in
// place, of width 24 the keys' and values' are not.
TEST(Weights, AreTheSameWhetherPackedInAFileOrAtLoad) {
  for (const int width : {192, 24}) {
    model::Config config = small_config();
    config.width = width;
    const auto model = random_model(config);
    std::map<std::string, kernels::PackedMatrix> stored;
    for (const auto& p : model::parameters(model.config)) {
      if (p.shape.size() < 2) continue;
      stored[p.name] = {model.values.at(p.name).data(), nullptr, static_cast<int>(p.shape[0]),
                        static_cast<int>(p.shape[1]), Precision::float32};
    }
    const auto find = [&](const std::string& name) -> Values {
      if (!stored.contains(name)) return Float32{.numbers = model.values.at(name)};
      return Packed{.panels = stored.at(name).packed()};
    };
    const Pair pair = {random_sentence(1, 12), random_sentence(2, 12)};
    for (const Precision precision : {Precision::float32, Precision::float16, Precision::int8}) {
      Engine loaded(
          std::make_shared<Weights>(model.config, find, precision, std::shared_ptr<void>()));
      Engine made(model.weights(precision));
      EXPECT_EQ(forced_logits(loaded, pair), forced_logits(made, pair)) << width;
    }
  }
}

// `model` as a file that has this screen for it.
std::shared_ptr<const Weights> with_screen(const auto& model, const kernels::PackedMatrix& screen) {
  const std::string name = model::output_embedding(model.config);
  const auto find = [&](const std::string& parameter) -> Values {
    Float32 values = {.numbers = model.values.at(parameter)};
    if (parameter == name) {
      values.screen = screen.packed();
      values.scales = screen.scales().first(screen.out());
    }
    return values;
  };
  return std::make_shared<Weights>(model.config, find, Precision::float32, std::shared_ptr<void>());
}

TEST(Weights, UseAScreenWhereItIsStored) {
  const auto model = random_model(screened_config());
  const auto& rows = model.values.at(model::output_embedding(model.config));
  const kernels::PackedMatrix screen(rows.data(), nullptr, 50, 48, Precision::int16);
  const auto weights = with_screen(model, screen);
  EXPECT_EQ(weights->output_layer().screen().packed().data(), screen.packed().data());
  Engine stored(weights), made(model.weights());
  const Pair pair = {random_sentence(1, 12), random_sentence(2, 12)};
  EXPECT_EQ(score({&stored, 1}, {&pair, 1}), score({&made, 1}, {&pair, 1}));
  EXPECT_EQ(forced_logits(stored, pair), forced_logits(made, pair));
}

TEST(Weights, MakeAScreenAnewWhoseRowsHaveChanged) {
  auto model = random_model(screened_config());
  auto& rows = model.values.at(model::output_embedding(model.config));
  const kernels::PackedMatrix screen(rows.data(), nullptr, 50, 48, Precision::int16);
  for (float& weight : std::span(rows).last(48)) weight *= 1.5F;
  const auto changed = with_screen(model, screen), made = model.weights();
  EXPECT_THAT(changed->output_layer().screen().packed(),
              testing::ElementsAreArray(made->output_layer().screen().packed()));
}

// How many of the pages that lie wholly in `numbers` this process has in memory.
int64_t pages_in_memory(std::span<const float> numbers) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(numbers.data());
  const auto first = (begin + page - 1) / page, last = (begin + numbers.size_bytes()) / page;
  std::vector<uint64_t> entries(last - first);
  const auto bytes = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
  const int map = ::open("/proc/self/pagemap", O_RDONLY);
  EXPECT_EQ(::pread(map, entries.data(), bytes, static_cast<off_t>(first * sizeof(uint64_t))),
            bytes);
  ::close(map);
  return std::ranges::count_if(entries, [](uint64_t entry) { return entry >> 63 != 0; });
}

TEST(Weights, OfAFileTakeNoMemoryForRowsThatSingleSentencesNeed) {
  model::Config config = screened_config();
  config.source_vocabulary = config.target_vocabulary = 100000;  // 19 MB
  const auto model = random_model(config);
  std::vector<model::TensorBytes> tensors;
  for (const auto& p : model::parameters(config)) {
    const auto bytes = std::as_bytes(std::span(model.values.at(p.name)));
    tensors.push_back({p.name,
                       model::Dtype::f32,
                       p.shape,
                       {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  }
  const test::TemporaryDirectory directory;
  model::write_safetensors(directory / "f", tensors, {});
  const auto file = model::SafeTensors::open(directory / "f");
  const auto find = [&](const std::string& name) -> Values {
    return Float32{.numbers = file.at(name).values<float>(), .file = &file};
  };
  Engine mapped(
      std::make_shared<Weights>(config, find, Precision::float32, std::shared_ptr<void>()));
  Engine copied(model.weights());
  const auto table = file.at(model::output_embedding(config)).values<float>();
  const auto pairs_of = [](size_t count) {
    return std::vector<Pair>(count, {random_sentence(1, 12), random_sentence(2, 12)});
  };
  EXPECT_EQ(score({&mapped, 1}, pairs_of(1)), score({&copied, 1}, pairs_of(1)));
  // What lies beside the table may bring huge pages of it along.
  const int64_t few = pages_in_memory(table);
  EXPECT_LE(few, 1024);
  EXPECT_EQ(score({&mapped, 1}, pairs_of(9)), score({&copied, 1}, pairs_of(9)));
  EXPECT_GT(pages_in_memory(table), few);  // where it matters less, they are mapped
}

// A file's screen may know nothing of it, and it may be behind those that correct the normaliser.
TEST(Engine, GivesNoNormaliserWhereOneOfTheBestIsNoNumber) {
  auto model = random_model(screened_config());
  const int64_t width = model.config.width;
  auto& rows = model.values.at(model::output_embedding(model.config));
  for (int64_t symbol = 0; symbol < 50; ++symbol) {
    rows[symbol * width] = -0.5F * static_cast<float>(symbol);
  }
  const kernels::PackedMatrix screen(rows.data(), nullptr, 50, 48, Precision::int16);
  const auto sum_with = [&](float weight) {
    rows[30 * width + 1] = weight;
    const auto weights = with_screen(model, screen);
    EXPECT_EQ(weights->output_layer().screen().packed().data(), screen.packed().data());
    RowPool pool(width);
    const Rows hidden = pool.take(1);
    std::fill_n(hidden.data(), width, 0.0F);
    hidden.data()[0] = 1;
    std::vector<kernels::Scored> best(40);
    std::vector<kernels::RowSummary> summaries = {{.k = 40, .best = best.data()}};
    Engine(weights).summarise(hidden, 0, summaries, nullptr);
    return summaries[0].log_sum_exp();
  };
  EXPECT_TRUE(std::isfinite(sum_with(0)));
  EXPECT_TRUE(std::isnan(sum_with(std::nanf(""))));
}

// Wherever the row is, and whatever its other products would be.
TEST(Engine, GivesNoNormaliserWhereAWeightIsInfinite) {
  for (const int64_t symbol : {5, 30, 49}) {
    for (const float sign : {-1.0F, 1.0F}) {
      auto model = random_model(screened_config());
      const int64_t width = model.config.width;
      model.values.at(model::output_embedding(model.config))[symbol * width + 1] =
          sign * std::numeric_limits<float>::infinity();
      RowPool pool(width);
      const Rows hidden = pool.take(1);
      std::fill_n(hidden.data(), width, 0.1F);
      std::vector<kernels::Scored> best(10);
      std::vector<kernels::RowSummary> summaries = {{.k = 10, .best = best.data()}};
      const auto weights = model.weights();
      EXPECT_TRUE(weights->output_layer().has_screen());
      Engine(weights).summarise(hidden, 0, summaries, nullptr);
      EXPECT_TRUE(std::isnan(summaries[0].log_sum_exp())) << symbol;
    }
  }
}

TEST(Weights, NameAParameterThatIsMissingOrHasAnotherSize) {
  auto model = random_model(small_config());
  const std::string name = "decoder.layers.1.cross_attention.query.weight";
  model.values[name].pop_back();
  EXPECT_THROW(
      try { model.weights(); } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(name + " has 575 values, expected 576"));
        throw;
      },
      Error);
  model.values.erase(name);
  EXPECT_THROW(model.weights(), Error);
}

TEST(Score, OfSeveralModelsIsTheirMeanProbability) {
  std::vector<Engine> engines;
  for (const uint64_t seed : {1, 2}) {
    engines.emplace_back(random_model(small_config(), seed).weights());
  }
  const Pair pair = {random_sentence(1, 5), random_sentence(2, 8)};
  const auto a = score({&engines[0], 1}, {&pair, 1})[0];
  const auto b = score({&engines[1], 1}, {&pair, 1})[0];
  const auto both = score(engines, {&pair, 1})[0];
  for (size_t i = 0; i < both.size(); ++i) {
    EXPECT_NEAR(std::exp(both[i]), (std::exp(a[i]) + std::exp(b[i])) / 2, 1e-6);
  }
}

}  // namespace
}  // namespace residual::decode
