// Whole runs: killed, interrupted, with a full disk, with numbers that are not finite.

#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "runs.h"
#include "train/nonfinite.h"

namespace residual::train {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST_F(Runs, LearnToReverse) {
  run::TrainConfig config = task().config();
  config.dropout = {.residual = 0, .attention = 0, .activation = 0};
  config.loss.label_smoothing = 0;
  config.train.max_updates = 200;
  config.schedule.peak = 1e-2;
  config.checkpoint.every_updates = 100;
  auto run = create(config, path("run"));
  Trainer trainer(run);
  const run::StopSignals signals;
  EXPECT_EQ(trainer.run(signals), End::finished);
  EXPECT_EQ(trainer.state().update, 200);
  EXPECT_LT(trainer.state().best[0].value, 3);  // bits; to guess one of 12 letters takes 3.6
  EXPECT_TRUE(fs::exists(path("run") / "best" / "model.safetensors"));
  const auto model = model::Directory::open(path("run"));
  EXPECT_EQ(model.description().update, trainer.state().best[0].update);
}

TEST_F(Runs, WriteTheAverageOfTheirParametersAsTheModel) {
  run::TrainConfig config = task().config();
  config.optimizer.average_decay = 0.9;
  config.train.max_updates = 20;
  config.validate.bleu = true;
  auto run = create(config, path("run"));
  Trainer trainer(run);
  trainer.run(run::StopSignals());
  const auto checkpoint = run::read_checkpoint(newest(path("run")), run.config().model);
  EXPECT_NE(checkpoint.average, checkpoint.values);
  const auto model = model::Directory::open(path("run") / "last");
  const auto file = model::SafeTensors::open(newest(path("run")));
  const auto tensors = run::model_tensors(file);
  EXPECT_EQ(tensors.size(), model::parameters(run.config().model).size());
  for (const auto& tensor : tensors) {
    EXPECT_EQ(tensor.bytes, file.at("average." + tensor.name).bytes);
    EXPECT_EQ(tensor.bytes, model.parameter(tensor.name).bytes) << tensor.name;
  }
}

TEST_F(Runs, GoOnWithTheirOwnCorpusOnly) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 20;
  ASSERT_EQ(shell(start(config, path("run"))).exit_code, 0);
  const test::ReverseTask other(300);  // of the same vocabulary
  const std::string before = read_file(path("run") / run::kRunConfig);
  const auto refused = shell(resume(path("run")) + " --set train.max_updates=30 --data " +
                             other.prepared().string());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("is not the corpus that"));
  EXPECT_EQ(read_file(path("run") / run::kRunConfig), before);
  // The same text in another place.
  fs::copy(task().prepared(), path("copy"), fs::copy_options::recursive);
  const auto gone_on =
      shell(resume(path("run")) + " --set train.max_updates=30 --data " + path("copy").string());
  EXPECT_EQ(gone_on.exit_code, 0) << gone_on.error;

  const std::string best = read_file(path("run") / "best" / "model.safetensors");
  fs::remove_all(path("run") / run::kCheckpoints);
  const auto without = shell(resume(path("run")) + " --set train.max_updates=5");
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.error, HasSubstr("no checkpoint to resume from; start over with --force"));
  EXPECT_EQ(read_file(path("run") / "best" / "model.safetensors"), best);
}

// With learning rates of nothing, a run ends with what it started from.
TEST_F(Runs, StartFromTheParametersOfAModel) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 20;
  ASSERT_EQ(shell(start(config, path("first"))).exit_code, 0);
  const auto weights = [&](const fs::path& run) {
    return read_file(run / "last" / "model.safetensors");
  };
  run::TrainConfig still = config;
  still.train.start_from = (path("first") / "last").string();
  still.train.seed = 7;
  still.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e-30, .warmup = 0};
  ASSERT_EQ(shell(start(still, path("still"))).exit_code, 0);
  EXPECT_TRUE(weights(path("still")) == weights(path("first")));

  run::TrainConfig other = still;
  other.model.inner = 48;
  const auto wider = shell(start(other, path("wider")));
  EXPECT_EQ(wider.exit_code, 1);
  EXPECT_THAT(wider.error, HasSubstr("whose architecture differs:\n  model.inner: is "));
  EXPECT_FALSE(fs::exists(path("wider")));
  fs::copy(path("first") / "last", path("renamed"), fs::copy_options::recursive);
  const std::string symbols = read_file(path("renamed") / "vocabulary.txt");
  replace_file(path("renamed") / "vocabulary.txt", "x" + symbols);
  fs::remove(path("renamed") / "checksums.txt");
  still.train.start_from = path("renamed").string();
  const auto renamed = shell(start(still, path("not")));
  EXPECT_EQ(renamed.exit_code, 1);
  EXPECT_THAT(renamed.error, HasSubstr("is not the vocabulary of"));
  EXPECT_THAT(renamed.error, HasSubstr("residual prepare --like"));
}

// LibTorch and SentencePiece cannot be used in one process.
TEST_F(Runs, LearnFromSentencePiecesAndValidateTheirText) {
  const std::string prepared = path("prepared").string();
  const auto made = test::run("residual -q prepare --source-lang en --target-lang de --data " +
                              task().path("").string() +
                              " --train train --dev dev --set subwords.kind=sentencepiece-bpe"
                              " --set subwords.vocabulary_size=20 --set text.tokenizer=none -o " +
                              prepared);
  ASSERT_EQ(made.exit_code, 0) << made.error;
  run::TrainConfig config = task().config();
  config.data.prepared = prepared;
  config.train.max_updates = 20;
  config.validate.bleu = true;
  config.validate.every_updates = 10;
  const auto trained = shell(start(config, path("run")));
  ASSERT_EQ(trained.exit_code, 0) << trained.error;
  const std::string metrics = read_file(path("run") / "metrics.jsonl");
  EXPECT_THAT(metrics, HasSubstr("bleu"));
  EXPECT_THAT(metrics, HasSubstr("{\"kind\":\"samples\",\"update\":20,\"samples\":[{\"source\":"));
  const std::string report = read_file(path("run") / "report.html");
  EXPECT_THAT(report, HasSubstr("finished, update 20 of 20"));
  EXPECT_THAT(report, HasSubstr("1 at update 20"));
  const auto translated =
      test::run("echo a b c | residual -q translate --model " + path("run").string());
  EXPECT_EQ(translated.exit_code, 0) << translated.error;
}

TEST_F(Runs, DrawSubwordsAnewAndResumeWithTheSameBytes) {
  const std::string prepared = path("prepared").string();
  // Words of several letters, of which rare ones are spelt: letters are in the vocabulary.
  const auto made = test::run(
      "cd " + directory_.path().string() +
      "; for f in train dev; do for l in en de; do sed 's/\\([a-e]\\) \\([a-h]\\)/\\1\\2/g' " +
      task().path("$f.$l").string() +
      " > $f.$l; done; done; residual -q prepare --source-lang en "
      "--target-lang de --data . --train train --dev dev --set subwords.merges=30 "
      "--set text.tokenizer=none -o prepared");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  run::TrainConfig config = task().config();
  config.data.prepared = prepared;
  ASSERT_EQ(shell(start(config, path("plain"))).exit_code, 0);
  config.dropout.subwords = 0.3;
  ASSERT_EQ(shell(start(config, path("whole"))).exit_code, 0);
  EXPECT_NE(read_file(newest(path("plain"))), read_file(newest(path("whole"))));
  config.train.max_updates = 23;
  ASSERT_EQ(shell(start(config, path("parts"))).exit_code, 0);
  ASSERT_EQ(shell(resume(path("parts")) + " --threads 1 --set train.max_updates=60").exit_code, 0);
  EXPECT_EQ(run::read_checkpoint(newest(path("parts")),
                                 run::Corpora(config).with_vocabularies(config).model)
                .values,
            run::read_checkpoint(newest(path("whole")),
                                 run::Corpora(config).with_vocabularies(config).model)
                .values);
}

TEST_F(Runs, InBfloat16ResumeWithTheSameBytes) {
  run::TrainConfig config = task().config();
  config.train.precision = run::TrainingPrecision::bf16;
  config.train.max_updates = 60;
  ASSERT_EQ(shell(start(config, path("whole"))).exit_code, 0);
  ASSERT_EQ(shell(start(config, path("parts")) + " --set train.max_updates=30").exit_code, 0);
  ASSERT_EQ(shell(resume(path("parts")) + " --threads 1 --set train.max_updates=60").exit_code, 0);
  const model::Config model = run::Corpora(config).with_vocabularies(config).model;
  EXPECT_EQ(run::read_checkpoint(newest(path("parts")), model).values,
            run::read_checkpoint(newest(path("whole")), model).values);
}

TEST_F(Runs, KilledAtAnyInstantAndResumedEndWithTheSameBytes) {
  using Clock = std::chrono::steady_clock;
  run::TrainConfig config = task().config();
  config.train.max_updates = 240;
  config.optimizer.average_decay = 0.98;
  const auto begin = Clock::now();
  ASSERT_EQ(shell(start(config, path("whole"))).exit_code, 0);
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  const Random random(static_cast<uint64_t>(Clock::now().time_since_epoch().count()));
  std::string arguments = start(config, path("killed"));
  int kills = 0;
  for (uint64_t i = 0; i < 5; ++i) {
    const double instant = seconds * (0.3 + 0.6 * random.uniform(i));
    const auto result = shell(arguments, fmt::format("timeout -s KILL {:.3f}", instant));
    if (result.exit_code == 137) {
      ++kills;
    } else {  // faster than the first run, whose libraries came from the disk: earlier next time
      seconds /= 2;
      fs::remove_all(path("killed"));
    }
    arguments = fs::exists(path("killed") / run::kRunConfig) ? resume(path("killed"))
                                                             : start(config, path("killed"));
  }
  EXPECT_GT(kills, 0);
  const auto last = shell(arguments, "nice");  // another scheduling, the same bits
  ASSERT_EQ(last.exit_code, 0) << last.error;
  expect_same_end(path("whole"), path("killed"));
}

TEST_F(Runs, InterruptedSayHowToResumeAndEndWithTheSameBytes) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 100;
  ASSERT_EQ(shell(start(config, path("whole"))).exit_code, 0);
  const auto interrupted =
      test::run("residual-train train " + start(config, path("interrupted")) + " &\n" +
                "until [ -s " + (path("interrupted") / "metrics.jsonl").string() +
                " ]; do sleep 0.01; done\n" + "kill -INT $!; wait $!");
  EXPECT_EQ(interrupted.exit_code, 130);
  EXPECT_THAT(interrupted.error, HasSubstr("residual train --resume -o"));
  EXPECT_THAT(read_file(path("interrupted") / "report.html"), HasSubstr("stopped, update "));
  const auto resumed = shell("--threads 1 " + resume(path("interrupted")));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
  expect_same_end(path("whole"), path("interrupted"));
}

TEST_F(Runs, DoNotMoveToAGpuWithTheWorkersOfACpu) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 2;
  config.train.workers = 2;
  ASSERT_EQ(shell(start(config, path("run"))).exit_code, 0);
  const auto moved = shell(resume(path("run")) + " --set train.max_updates=4 --device cuda");
  EXPECT_EQ(moved.exit_code, 1);
  EXPECT_THAT(moved.error, HasSubstr("train.workers: is 2; one GPU is driven by one worker, and "
                                     "the number of processes is 1"));
}

// Even before the corpus, which takes long to prepare.
TEST_F(Runs, ThatNeedAGpuSaySoBeforeAnythingElse) {
  if (at::hasCUDA()) GTEST_SKIP() << "this machine has a CUDA device";
  for (const char* recipe : {"wmt14-resi-dual-reference", "opus100-resi-dual-18-reference"}) {
    const auto result =
        shell(test::source_tree() + "/recipes/" + recipe + ".toml -o " + path("none").string());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.error, HasSubstr("train.device: is cuda, but this LibTorch finds no CUDA"));
    EXPECT_FALSE(fs::exists(path("none")));
  }
}

TEST_F(Runs, GoOnWhenNobodyReadsTheirMessages) {
  run::TrainConfig config = task().config();
  config.log.every_updates = 1;
  const auto result = test::run("(residual-train train " + start(config, path("run")) +
                                " 2>&1; echo $? > code) | head -n 1; cat code");
  EXPECT_THAT(result.output, testing::EndsWith("\n0\n")) << result.error;
  EXPECT_TRUE(fs::exists(path("run") / "last" / "model.safetensors"));
}

TEST_F(Runs, FallBackToTheCheckpointBeforeADamagedOne) {
  run::TrainConfig config = task().config();
  ASSERT_EQ(shell(start(config, path("whole"))).exit_code, 0);
  config.train.max_updates = 35;
  ASSERT_EQ(shell(start(config, path("damaged"))).exit_code, 0);
  std::ofstream(newest(path("damaged")), std::ios::app) << "x";
  const auto resumed = shell(resume(path("damaged")) + " --set train.max_updates=60");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
  EXPECT_THAT(resumed.error, HasSubstr("trying the previous checkpoint"));
  expect_same_end(path("whole"), path("damaged"));
}

// A disk that is full from the first rename of a checkpoint on, or from the beginning.
class FullDisk : public FileSystem {
 public:
  explicit FullDisk(bool is_full = false) : full_(is_full) {}

  void write(int file, const fs::path& path, std::string_view bytes) override {
    if (full_ && path.string().find(run::kCheckpoints) != std::string::npos) {
      refused_ = true;
      fail("{}: cannot write: No space left on device", path.string());
    }
    FileSystem::write(file, path, bytes);
  }
  void rename(const fs::path& from, const fs::path& to) override {
    FileSystem::rename(from, to);
    if (to.parent_path().filename() == run::kCheckpoints) full_ = true;
  }
  bool has_refused() const { return refused_; }

 private:
  std::atomic<bool> full_, refused_ = false;
};

// Lets updates after the 20th wait until the disk has refused that one's checkpoint.
class WaitForRefusal : public Observer {
 public:
  explicit WaitForRefusal(const FullDisk& disk) : disk_(disk) {}

  std::string option() const override { return ""; }
  int64_t every() const override { return 1; }
  void updated(int64_t update, const Learner& /*learner*/, run::RunLog& /*log*/) override {
    while (update > 20 && !disk_.has_refused()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  const FullDisk& disk_;
};

TEST_F(Runs, WhoseFirstCheckpointCannotBeWrittenDoNotSpeakOfOthers) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 10;
  {
    FullDisk disk(/*is_full=*/true);
    auto run = create(config, path("run"));
    Trainer trainer(run, disk);
    EXPECT_THAT(error_of(trainer),
                HasSubstr("device. It would have been the first; remove the cause, "
                          "then start again with: residual train --resume"));
  }
  auto run = run::RunDirectory::resume(path("run"), nullptr);
  Trainer trainer(run);
  EXPECT_EQ(trainer.state().update, 0);
  EXPECT_EQ(error_of(trainer), "");
}

TEST_F(Runs, StopWhenTheDiskIsFullAndKeepTheLastGoodCheckpoint) {
  run::TrainConfig config = task().config();
  config.validate.every_epochs = 0;
  {
    FullDisk disk;
    auto run = create(config, path("run"));
    Trainer trainer(run, disk);
    WaitForRefusal wait(disk);
    trainer.observe(wait);
    EXPECT_THAT(error_of(trainer), HasSubstr("No space left on device. Earlier ones are intact"));
    EXPECT_LT(trainer.state().update, 30);  // when the next checkpoint would have been due
  }
  EXPECT_THAT(read_file(path("run") / "log.txt"),
              HasSubstr("the checkpoint of update 20 could not be written"));
  EXPECT_EQ(newest(path("run")).filename(), run::checkpoint_name(10));
  auto run = run::RunDirectory::resume(path("run"), nullptr);
  Trainer trainer(run);
  EXPECT_EQ(trainer.state().update, 10);
  EXPECT_EQ(error_of(trainer), "");
  EXPECT_EQ(trainer.state().update, 60);
}

// Prepares the corpus anew, by name at least, while a run is on.
class ReplacedText : public Observer {
 public:
  explicit ReplacedText(fs::path prepared) : prepared_(std::move(prepared)) {}

  std::string option() const override { return ""; }
  int64_t every() const override { return 1; }
  void updated(int64_t update, const Learner& /*learner*/, run::RunLog& /*log*/) override {
    if (update > 1) return;
    replace_file(prepared_ / "vocabulary.txt", "z 1\n");
    fs::remove(prepared_ / "segmentation.de.toml");
  }

 private:
  const fs::path prepared_;
};

TEST_F(Runs, WriteTheTextFilesThatTheyBeganWith) {
  const test::ReverseTask own(100);
  run::TrainConfig config = own.config();
  config.train.max_updates = 20;
  config.validate.metric = run::ValidationMetric::bleu;
  const char* const files[] = {"vocabulary.txt", "segmentation.en.toml", "segmentation.de.toml"};
  std::map<std::string, std::string> before;
  for (const char* file : files) before[file] = read_file(own.prepared() / file);
  auto run = create(config, path("run"));
  Trainer trainer(run);
  ReplacedText replace(own.prepared());
  trainer.observe(replace);
  EXPECT_EQ(error_of(trainer), "");
  for (const char* model : {"best", "last"}) {
    for (const char* file : files) {
      EXPECT_EQ(read_file(path("run") / model / file), before[file]) << model << ' ' << file;
    }
  }
}

TEST_F(Runs, StopAtANumberThatIsNotFiniteAndSayWhere) {
  run::TrainConfig config = task().config();
  config.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  auto run = create(config, path("run"));
  Trainer trainer(run);
  const std::string error = error_of(trainer);
  EXPECT_THAT(error, HasSubstr("update 2: loss or gradient is not finite; first: encoder"));
  EXPECT_THAT(error, HasSubstr("sentences of train en-de: lines "));
  EXPECT_THAT(error, HasSubstr("with --resume --set train.on_nonfinite=skip"));
  EXPECT_THAT(read_file(path("run") / "log.txt"), HasSubstr("error: " + error));
  EXPECT_THAT(read_file(path("run") / "report.html"),
              HasSubstr("The run ended with an error: update 2: loss or gradient is not finite"));
  EXPECT_EQ(trainer.state().update, 1);
  const std::string table = replay(path("run") / "nonfinite-000000002");
  EXPECT_THAT(table, HasSubstr("encoder.layers.0.self_attention, output"));
  EXPECT_THAT(table, HasSubstr("gradient of decoder"));
}

// Whoever is sent a bundle replays what others wrote.
TEST_F(Runs, ReplayOnlyBatchesThatTheModelCanRead) {
  run::TrainConfig config = task().config();
  config = run::resolve(run::Corpora(config).with_vocabularies(config));
  const Learner learner(config);
  const auto symbols = static_cast<int32_t>(config.model.source_vocabulary);
  const auto error = [&](data::Batch shard) -> std::string {
    const Finding finding{.place = "", .shard = std::move(shard), .pass = learner.pass(1, 0, 0)};
    write_bundle(path("bundle"), config, learner.checkpoint(), finding, "");
    try {
      replay(path("bundle"));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const data::Batch good{
      .source = {5, 2}, .target = {6, 2}, .source_offsets = {0, 2}, .target_offsets = {0, 2}};
  EXPECT_EQ(error(good), "");
  const auto with = [&](const auto& change) {
    data::Batch shard = good;
    change(shard);
    return error(std::move(shard));
  };
  EXPECT_THAT(with([&](auto& s) { s.source[0] = symbols; }), HasSubstr("is not in the vocabulary"));
  EXPECT_THAT(with([&](auto& s) { s.target[1] = -1; }), HasSubstr("id -1 is not in the"));
  EXPECT_THAT(with([&](auto& s) { s.target_offsets = {0, 3}; }), HasSubstr("end after the 2 ids"));
  EXPECT_THAT(with([&](auto& s) { s.source_offsets = {1, 2}; }), HasSubstr("begin at 0"));
  EXPECT_THAT(with([&](auto& s) { s.source_offsets = {0}; }), HasSubstr("as many sources"));
  EXPECT_THAT(with([&](auto& s) {
                s.source_offsets = {0, 9, 2};
                s.target_offsets = {0, 1, 2};
              }),
              HasSubstr("a sentence has -7 tokens"));
  EXPECT_THAT(with([&](auto& s) {
                s.source.assign(33, 5);
                s.source_offsets = {0, 33};
              }),
              HasSubstr("has 33 tokens, expected 1 to 32"));

  EXPECT_EQ(error(good), "");
  const fs::path file = path("bundle") / "batch.safetensors";
  std::string bytes = read_file(file);
  bytes.replace(bytes.find("\"update\":\"1\""), 12, "\"update\":\"x\"");
  replace_file(file, bytes);
  EXPECT_THAT([&] { replay(path("bundle")); },
              testing::ThrowsMessage<Error>(HasSubstr("expected a whole number, got \"x\"")));
}

TEST_F(Runs, NameTheParameterAndTheBlockThatWentWrong) {
  run::TrainConfig config = task().config();
  config = run::resolve(run::Corpora(config).with_vocabularies(config));
  Learner learner(config);
  run::Checkpoint broken = learner.checkpoint();
  const auto& parameters = learner.parameters().list();
  size_t at = 0;
  for (const auto& p : parameters) {
    if (p.name == "decoder.layers.0.feed_forward.inner.weight") break;
    at += static_cast<size_t>(p.size());
  }
  broken.values[at] = std::numeric_limits<float>::quiet_NaN();
  learner.restore(broken);
  const run::Corpora corpora(config);
  const std::vector<data::Batch> batches{corpora.batcher(config).next()};
  const Finding found = find_nonfinite(learner, config, batches, 1);
  EXPECT_THAT(found.place, HasSubstr("decoder.layers.0.feed_forward, output: "));
  EXPECT_THAT(found.place, HasSubstr("parameter decoder.layers.0.feed_forward.inner.weight: 1 of"));
}

TEST_F(Runs, MaySkipWhatIsNotFiniteOrLowerTheLearningRate) {
  run::TrainConfig config = task().config();
  config.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  config.train.on_nonfinite = run::OnNonfinite::lower;
  auto run = create(config, path("run"));
  Trainer trainer(run);
  const std::string error = error_of(trainer);  // after many: it is hopeless
  EXPECT_THAT(error,
              HasSubstr("the 100 updates before it were skipped too, so the run has diverged"));
  EXPECT_THAT(error, testing::Not(HasSubstr("on_nonfinite")));
  EXPECT_THAT(read_file(path("run") / "log.txt"),  // of both batches of an update
              testing::ContainsRegex("skipped \\(train en-de: lines .*; train en-de: lines "));
  EXPECT_EQ(trainer.state().update, 1);
  EXPECT_EQ(trainer.state().skipped, trainer.state().skipped_in_a_row);
  EXPECT_LT(trainer.state().learning_rate_factor, 1e-20);
}

// Float16 products, which not every LibTorch has on CPUs; `residual train` asks for none there.
TEST_F(Runs, StopWhenTheLossScaleIsExhausted) {
  try {
    at::matmul(at::ones({2, 2}, at::kHalf), at::ones({2, 2}, at::kHalf));
  } catch (const c10::Error&) {
    GTEST_SKIP() << "this LibTorch has no float16 products on CPUs";
  }
  run::TrainConfig config = task().config();
  config.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  config.train.precision = run::TrainingPrecision::fp16;
  config.loss_scale = {.initial = 1, .minimum = 0.5};
  auto run = create(config, path("run"));
  Trainer trainer(run);
  EXPECT_THAT(error_of(trainer), HasSubstr("has fallen below loss_scale.minimum = 0.5"));
  EXPECT_TRUE(fs::exists(path("run") / "nonfinite-000000002"));
}

TEST_F(Runs, NameTheEpochThatTheyValidateAfter) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 0;
  config.train.max_epochs = 2;
  config.validate = {.every_updates = 0, .every_epochs = 1};
  auto run = create(config, path("run"));
  Trainer trainer(run);
  EXPECT_EQ(error_of(trainer), "");
  std::vector<int64_t> epochs;
  std::ifstream lines(path("run") / run::kMetrics);
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object["kind"] == "valid") epochs.push_back(object["epoch"]);
  }
  EXPECT_THAT(epochs, testing::ElementsAre(1, 2));
}

TEST_F(Runs, EndWhenPatienceDoes) {
  run::TrainConfig config = task().config();
  config.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e-30, .warmup = 0};
  config.validate = {.every_updates = 5, .every_epochs = 0, .patience = 3};
  auto run = create(config, path("run"));
  Trainer trainer(run);
  const run::StopSignals signals;
  EXPECT_EQ(trainer.run(signals), End::patience);
  EXPECT_EQ(trainer.state().update, 20);
}

TEST_F(Runs, KeepTheCheckpointsTheyAreAskedTo) {
  run::TrainConfig config = task().config();
  config.checkpoint = {.every_updates = 8, .keep_last = 2, .keep_epochs = 2, .keep_best = 1};
  auto run = create(config, path("run"));
  Trainer trainer(run);
  EXPECT_EQ(error_of(trainer), "");
  std::set<int64_t> left;
  for (const auto& [update, file] :
       run::CheckpointStore(path("run") / run::kCheckpoints, run.config().model).list()) {
    left.insert(update);
  }
  EXPECT_TRUE(left.contains(60) && left.contains(56));
  EXPECT_TRUE(left.contains(trainer.state().best[0].update));
  const auto& ends = trainer.state().epoch_ends;
  EXPECT_EQ(ends.size(), 2u);
  for (const int64_t end : ends) EXPECT_TRUE(left.contains(end)) << end;
  EXPECT_LE(left.size(), 5u);
}

TEST_F(Runs, KeepTheCheckpointsOfAsManyEpochsAsTheyAreAskedTo) {
  run::TrainConfig config = task().config();
  config.validate = {.every_updates = 0, .every_epochs = 0};
  config.checkpoint = {.every_updates = 0, .every_epochs = 2, .keep_last = 1, .keep_epochs = 3};
  config.train.max_updates = 0;
  config.train.max_epochs = 9;
  config.schedule.total = 100;
  auto run = create(config, path("run"));
  Trainer trainer(run);
  EXPECT_EQ(error_of(trainer), "");
  const auto& ends = trainer.state().epoch_ends;  // of epochs 4, 6, 8
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends[1] - ends[0], ends[2] - ends[1]);
  EXPECT_EQ(ends[2] / (ends[2] - ends[1]), 4);
  const run::CheckpointStore store(path("run") / run::kCheckpoints, run.config().model);
  for (const int64_t end : ends) EXPECT_TRUE(store.list().contains(end)) << end;
}

TEST_F(Runs, RefuseToStartOverOrToShare) {
  run::TrainConfig config = task().config();
  config.train.max_updates = 5;
  ASSERT_EQ(shell(start(config, path("run"))).exit_code, 0);
  const auto again = shell(start(config, path("run")));
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.error, HasSubstr("continue it with --resume"));
  const auto other = shell(start(config, path("run")) + " --resume --set optimizer.beta2=0.9");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.error, HasSubstr("optimizer.beta2: was 0.98, now 0.9"));
  const auto held = run::RunDirectory::resume(path("run"), nullptr);
  const auto second = shell(resume(path("run")));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.error, HasSubstr("another process is training in it"));
}

}  // namespace
}  // namespace residual::train
