// The small parts of a run: shards, loss scale, validations, corpora, memory, display.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>

#include "base/control_group.h"
#include "base/error.h"
#include "model/export.h"
#include "model/models.h"
#include "support/temporary.h"
#include "tiny.h"
#include "train/corpora.h"
#include "train/display.h"
#include "train/memory.h"
#include "train/metrics.h"
#include "train/scaler.h"
#include "train/shards.h"
#include "train/start.h"
#include "train/validation.h"
#include "train/verify.h"

namespace residual::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Sentences of the given lengths on both sides; ids count up so that each can be told.
data::Batch batch_of(const std::vector<int>& lengths) {
  data::Batch batch{.source_offsets = {0}, .target_offsets = {0}};
  for (const int length : lengths) {
    for (int i = 0; i < length; ++i) {
      batch.source.push_back(static_cast<int32_t>(batch.source.size()));
      batch.target.push_back(static_cast<int32_t>(batch.target.size()) + 1000);
    }
    batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
    batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
    batch.pairs.push_back(batch.size());
  }
  return batch;
}

TEST(Shards, HoldEverySentenceOnceInOrderAndAreBalanced) {
  const data::Batch batch = batch_of({3, 9, 2, 2, 7, 1, 8, 4});
  const auto parts = shards(batch, 3);
  ASSERT_EQ(parts.size(), 3u);
  std::vector<int64_t> pairs;
  for (const auto& part : parts) {
    EXPECT_TRUE(std::ranges::is_sorted(part.pairs));
    EXPECT_NEAR(static_cast<double>(part.source.size()), 12, 1);  // 36 tokens in all
    for (size_t s = 0; s < part.pairs.size(); ++s) {
      const auto original = static_cast<size_t>(part.pairs[s]);
      EXPECT_EQ(part.source[part.source_offsets[s]], batch.source[batch.source_offsets[original]]);
      EXPECT_EQ(part.target[part.target_offsets[s + 1] - 1],
                batch.target[batch.target_offsets[original + 1] - 1]);
    }
    pairs.insert(pairs.end(), part.pairs.begin(), part.pairs.end());
  }
  std::ranges::sort(pairs);
  EXPECT_EQ(pairs, batch.pairs);
}

TEST(Shards, MayBeEmpty) {
  const auto parts = shards(batch_of({5}), 2);
  EXPECT_EQ(parts[0].size(), 1);
  EXPECT_EQ(parts[1].size(), 0);
  EXPECT_THAT(parts[1].source_offsets, ElementsAre(0));
}

TEST(LossScaler, DoublesAfterAWindowAndHalvesAtOverflow) {
  LossScaler scaler({.initial = 128, .window = 3, .minimum = 16}, Precision::fp16);
  for (int i = 0; i < 3; ++i) scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 256);
  scaler.succeeded();
  EXPECT_TRUE(scaler.overflowed());
  EXPECT_EQ(scaler.scale(), 128);
  for (int i = 0; i < 2; ++i) scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 128);  // the overflow began a new window
  scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 256);

  LossScaler copy({.initial = 128, .window = 3, .minimum = 16}, Precision::fp16);
  copy.restore(scaler.scale(), scaler.good_updates());
  for (LossScaler* s : {&scaler, &copy}) {
    for (int i = 0; i < 4; ++i) s->succeeded();
  }
  EXPECT_EQ(copy.scale(), scaler.scale());
}

TEST(LossScaler, GivesUpBelowTheMinimum) {
  LossScaler scaler({.initial = 32, .window = 3, .minimum = 16}, Precision::fp16);
  EXPECT_TRUE(scaler.overflowed());
  EXPECT_FALSE(scaler.overflowed());
}

TEST(LossScaler, IsOneInOtherPrecisions) {
  LossScaler scaler({}, Precision::bf16);
  for (int i = 0; i < 5000; ++i) scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_FALSE(scaler.active());
}

TEST(Validation, CountsThoseWithoutStrictGainAndPrefersTheNewestOfEqualOnes) {
  State state;
  const auto validate = [&](int64_t update, double loss) {
    state.update = update;
    return note_validation(state, Metric::loss, loss, 2);
  };
  EXPECT_EQ(validate(1, 5), Rank::best);
  EXPECT_EQ(validate(2, 4), Rank::best);
  EXPECT_EQ(state.validations_without_gain, 0);
  EXPECT_EQ(validate(3, 4), Rank::best);  // as good: the newest is the best, but it is no gain
  EXPECT_EQ(state.validations_without_gain, 1);
  EXPECT_EQ(validate(4, 4.5), Rank::none);
  EXPECT_EQ(state.validations_without_gain, 2);
  ASSERT_EQ(state.best.size(), 2u);
  EXPECT_EQ(state.best[0].update, 3);
  EXPECT_EQ(state.best[1].update, 2);
  EXPECT_EQ(validate(5, 3.9), Rank::best);
  EXPECT_EQ(state.validations_without_gain, 0);
  EXPECT_EQ(validate(6, 3.95), Rank::kept);
}

TEST(Validation, HigherBleuIsBetter) {
  State state;
  EXPECT_EQ(note_validation(state, Metric::bleu, 20, 1), Rank::best);
  EXPECT_EQ(note_validation(state, Metric::bleu, 19, 1), Rank::none);
  EXPECT_EQ(note_validation(state, Metric::bleu, 21, 1), Rank::best);
}

TEST(Validation, OfAModelThatBrokeIsWorseThanAny) {
  State state;
  EXPECT_EQ(note_validation(state, Metric::loss, 5, 2), Rank::best);
  EXPECT_EQ(note_validation(state, Metric::loss, std::nan(""), 2), Rank::kept);
  EXPECT_EQ(state.best[0].value, 5);
  EXPECT_EQ(state.validations_without_gain, 1);
  EXPECT_EQ(note_validation(state, Metric::loss, 6, 2), Rank::kept);
  EXPECT_EQ(note_validation(state, Metric::loss, 4, 2), Rank::best);

  State broken;
  EXPECT_EQ(note_validation(broken, Metric::loss, std::nan(""), 2), Rank::none);
  EXPECT_EQ(broken.validations_without_gain, 1);
  EXPECT_EQ(note_validation(broken, Metric::loss, 7, 2), Rank::best);
}

template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Corpora, NeedTheVocabularyTheyWereMadeWith) {
  const test::ReverseTask task(20);
  replace_file(task.prepared() / "vocabulary.txt", "z 1\n");
  EXPECT_THAT(error_of([&] { Corpora{task.config()}; }),
              HasSubstr("made with another source vocabulary"));
}

// Sizes of tables come from prepared.toml: ids beyond them would be written past their ends.
TEST(Corpora, NeedTheNumberOfSymbolsThatTheManifestSays) {
  const test::ReverseTask task(20);
  data::Manifest manifest = data::load_manifest(task.prepared());
  EXPECT_THAT(verify(task.prepared()).problems, testing::IsEmpty());
  manifest.vocabularies[0].symbols = 6;
  replace_file(task.prepared() / "prepared.toml", to_toml(manifest));
  EXPECT_THAT(error_of([&] { Corpora{task.config()}; }),
              HasSubstr("symbols, prepared.toml says 6"));
  EXPECT_THROW(data::verify(manifest, task.prepared()), Error);
  // The vocabulary and both corpora.
  EXPECT_THAT(verify(task.prepared()).problems, testing::SizeIs(3));
}

// A model without them could not read or write text, and would say so only when it is used.
TEST(Corpora, NeedTheTextFilesThatWerePrepared) {
  const test::ReverseTask task(20);
  data::Manifest manifest = data::load_manifest(task.prepared());
  manifest.recipe.subwords = {.kind = data::SubwordKind::bpe, .merges = 5};
  data::prepare(manifest.recipe, {.output = task.path("pieces")});
  TrainConfig config = task.config();
  config.data.prepared = task.path("pieces").string();
  const auto error_with = [&](const std::string& file, const std::optional<std::string>& content) {
    const fs::path path = task.path("pieces") / file;
    const std::string before = read_file(path);
    content ? replace_file(path, *content) : static_cast<void>(fs::remove(path));
    std::string error = error_of([&] { Corpora{config}; });
    replace_file(path, before);
    return error;
  };
  const std::string settings = read_file(task.path("pieces") / "segmentation.de.toml");
  const std::string codes = text::Segmenter::load(task.path("pieces"), "de").options().model;
  EXPECT_EQ(error_of([&] { Corpora{config}; }), "");
  for (const auto& file : {codes, std::string("segmentation.de.toml")}) {
    EXPECT_THAT(error_with(file, {}), HasSubstr(file + ": is not there")) << file;
  }
  const std::string edited = settings + "# edited\n";
  EXPECT_THAT(error_with("segmentation.de.toml", edited), HasSubstr("was changed or damaged"));
  EXPECT_THAT(error_with(codes, ""), HasSubstr(codes + ": 0 bytes with checksum"));

  // As a version that did not note its files left it.
  manifest = data::load_manifest(task.path("pieces"));
  manifest.files.clear();
  replace_file(task.path("pieces") / "prepared.toml", to_toml(manifest));
  EXPECT_EQ(error_with("segmentation.de.toml", edited), "");
  EXPECT_THAT(error_with(codes, {}), HasSubstr(codes + ": is not there"));
}

// Of the same size, as padding to a multiple of 8 makes them more often than not.
TEST(Corpora, WithTwoVocabulariesCannotShareAllEmbeddings) {
  const test::ReverseTask task(20);
  data::Recipe recipe = data::load_manifest(task.prepared()).recipe;
  recipe.vocabulary.joined = false;
  data::prepare(recipe, {.output = task.path("separate")});
  TrainConfig config = task.config();
  config.data.prepared = task.path("separate").string();
  EXPECT_THAT(error_of([&] { Corpora(config).with_vocabularies(config); }),
              HasSubstr("\"all\" needs one vocabulary"));
  config.model.sharing = model::Sharing::target;
  EXPECT_EQ(Corpora(config).with_vocabularies(config).model.sharing, model::Sharing::target);
}

TEST(StartValues, AreNotTakenFromWhatTranslatingOrFairseqAloneReads) {
  const test::ReverseTask task(20);
  TrainConfig config = task.config();
  const Corpora corpora(config);
  config = resolve(corpora.with_vocabularies(config));
  model::test::Weights weights(config.model);
  model::write_directory(task.path("m"), corpora.description(config), weights.tensors(),
                         task.prepared());
  const auto model = model::Directory::open(task.path("m"));
  model::write_directory(task.path("int8"), model.description(), model::int8_tensors(model).list,
                         model);
  model::export_fairseq(model, task.path("fairseq"));
  const auto error_from = [&](const char* name) {
    config.train.start_from = task.path(name).string();
    return error_of([&] { start_values(config, corpora); });
  };
  EXPECT_EQ(error_from("m"), "");
  EXPECT_THAT(error_from("int8"),
              HasSubstr("int8: is int8; start from the model it was made from"));
  EXPECT_THAT(error_from("fairseq"), HasSubstr("fairseq: was exported to fairseq"));
}

TEST(Averages, AreInBits) {
  const Averages mean = averages({.tokens = 4, .loss = 8 * std::log(2), .nll = 4 * std::log(2)});
  EXPECT_DOUBLE_EQ(mean.loss, 2);
  EXPECT_DOUBLE_EQ(mean.nll, 1);
  EXPECT_DOUBLE_EQ(mean.perplexity, 2);
}

TEST(Memory, IsRefusedWithAdvice) {
  TrainConfig config;
  config.model.source_vocabulary = config.model.target_vocabulary = 10'000;
  config.train.workers = 2;
  const MemoryEstimate need = estimate_memory(config);
  EXPECT_EQ(need.gradients, 2 * need.parameters);
  EXPECT_EQ(need.moments, 2 * need.parameters);
  EXPECT_NO_THROW(require_memory(config, 2 * need.total()));
  EXPECT_NO_THROW(require_memory(config, -1));
  const auto error = [&](int64_t available) -> std::string {
    try {
      require_memory(config, available);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error(need.total() - 1), HasSubstr("lower batch.pass_tokens from 1024"));
  EXPECT_THAT(error(need.parameters), HasSubstr("lower train.workers, or take a smaller model"));

  TrainConfig whole = config;  // shares of 2048 tokens at once instead of 1024
  whole.batch.pass_tokens = 0;
  EXPECT_GT(estimate_memory(whole).activations, 1.5 * static_cast<double>(need.activations));
  EXPECT_GT(available_memory(), 0);

  TrainConfig recomputed = config;
  recomputed.train.recompute = true;
  EXPECT_LT(estimate_memory(recomputed).activations, 0.6 * static_cast<double>(need.activations));
}

TEST(Memory, IsLimitedByEveryGroupAroundTheProcess) {
  const test::TemporaryDirectory root;
  const auto group = [&](const fs::path& at, int64_t limit, int64_t used, const char* stat) {
    fs::create_directories(root / at);
    std::ofstream(root / at / "memory.max") << limit;
    std::ofstream(root / at / "memory.current") << used;
    std::ofstream(root / at / "memory.stat") << stat;
  };
  const auto left = [&](const char* path) {
    std::ofstream(root / "list") << "0::" << path << '\n';
    return left_of_groups(control_groups("memory", root / "list", root.path()));
  };
  EXPECT_EQ(left("/a/b"), std::numeric_limits<int64_t>::max());
  group("a", 1000, 300, "anon 200\nactive_file 60\ninactive_file 40\n");
  fs::create_directories(root / "a/b");
  std::ofstream(root / "a/b/memory.max") << "max\n";
  EXPECT_EQ(left("/a/b"), 800);
  EXPECT_EQ(left("/a"), 800);
  EXPECT_EQ(left("/elsewhere"), std::numeric_limits<int64_t>::max());
  group("", 500, 100, "active_file 1\ntotal_active_file 5\ntotal_inactive_file 6\n");
  EXPECT_EQ(left("/a/b"), 411);
  EXPECT_EQ(left("/elsewhere"), 411);
}

const Status kStatus{.update = 1200,
                     .max_updates = 50000,
                     .epoch = 3,
                     .epoch_done = 0.45,
                     .loss = 5.1234,
                     .perplexity = 20.1,
                     .learning_rate = 3e-4,
                     .gradient_norm = 1.23,
                     .tokens_per_second = 12345,
                     .seconds_left = 7380};

TEST(Display, SaysWhereTheRunIs) {
  EXPECT_EQ(format_status(kStatus),
            "update 1,200/50,000 | epoch 3 (45 %) | loss 5.123 | ppl 20.10 | lr 3.00e-04 | |g| "
            "1.230 | 12,345 tokens/s | 2h 03m left");
}

TEST(Display, KeepsOneLineOnATerminalAndWritesNoneElsewhere) {
  std::string drawn;
  double time = 0;
  const auto terminal = [&](bool is_terminal) {
    return Progress::Terminal{.is_terminal = is_terminal,
                              .columns = 40,
                              .write = [&](const std::string& text) { drawn += text; },
                              .now = [&] { return std::chrono::duration<double>(time += 1); }};
  };
  {
    Display display(terminal(true));
    display.update(kStatus);
    EXPECT_EQ(drawn, "\r\x1b[K" + format_status(kStatus).substr(0, 39));
    drawn.clear();
    display.line("a line");
    EXPECT_EQ(drawn, "\r\x1b[Ka line\n");
  }
  drawn.clear();
  Display display(terminal(false));
  display.update(kStatus);
  EXPECT_EQ(drawn, "");
}

}  // namespace
}  // namespace residual::train
