// docs/adding-a-scheme.md, shown true: the one header sandwich.h makes a scheme that can be
// configured, trained, translated with, probed and exported. Nothing in src/ knows of it.

#include "schemes/sandwich.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "decode/rows.h"
#include "decode/translator.h"
#include "interop/export.h"
#include "model/export.h"
#include "model/parameters.h"
#include "nn/arithmetic.h"
#include "probe/probe.h"
#include "probe/stream_arithmetic.h"
#include "run/corpora.h"
#include "run/run_directory.h"
#include "run/signals.h"
#include "schemes/listing.h"
#include "schemes/make.h"
#include "support/tiny_run.h"
#include "train/trainer.h"

namespace residual {
namespace {

using schemes::Sandwich;
using testing::HasSubstr;
using testing::ThrowsMessage;

const bool kIsAdded = [] {
  schemes::add_scheme<Sandwich, schemes::Listing, nn::Arithmetic, decode::RowArithmetic,
                      probe::StreamArithmetic>();
  return true;
}();

TEST(AddedScheme, IsListedAndReadsItsOwnKeys) {
  ASSERT_TRUE(kIsAdded);
  EXPECT_EQ(schemes::registry().back().name, "sandwich");
  schemes::Choice choice;
  const auto read = [&](const std::string& text) {
    read_toml(text, "f", [&](ConfigVisitor& visit) { fields(visit, choice); });
  };
  read("name = \"sandwich\"\nbranch_scale = 0.5");
  EXPECT_EQ(schemes::options_of<Sandwich>(choice).branch_scale, 0.5);
  EXPECT_THAT([&] { read("branch_scael = 2"); },
              ThrowsMessage<Error>(HasSubstr("did you mean \"branch_scale\"?")));
  EXPECT_THAT([&] { read("eta = 0.5"); }, ThrowsMessage<Error>(HasSubstr("unknown key \"eta\"")));
}

TEST(AddedScheme, IsTrainedDecodedProbedAndExported) {
  const bool quiet = Progress::quiet();
  Progress::set_quiet(true);
  const test::ReverseTask task;
  run::TrainConfig config = task.config();
  const std::vector<std::string> settings = {"model.residual.name=sandwich",
                                             "model.residual.branch_scale=0.5"};
  apply_settings<run::TrainConfig>(settings, config);

  config = run::resolve(run::Corpora(config).with_vocabularies(config));
  auto run = run::RunDirectory::create(task.path("run"), config, /*force=*/false);
  train::Trainer trainer(run);
  EXPECT_EQ(trainer.run(run::StopSignals()), train::End::finished);
  EXPECT_LT(trainer.state().best[0].value, 4);  // bits; 12 letters and the end take 3.7 to guess

  const auto model = model::Directory::open(task.path("run"));
  const schemes::Choice& stored = model.description().model.residual;
  EXPECT_EQ(schemes::options_of<Sandwich>(stored).branch_scale, 0.5);
  EXPECT_EQ(model.parameter("encoder.residual.branch_norm.1.weight").shape,
            std::vector<int64_t>{config.model.width});

  const std::vector<std::string> lines = {"a b c", "d e f g"};
  const auto translate = [&](const fs::path& path) {
    std::string all;
    for (const auto& each : decode::Translator({path}, {}).translate(lines)) {
      EXPECT_TRUE(std::isfinite(each.outputs[0].score));
      all += each.outputs[0].text + "\n";
    }
    return all;
  };
  const std::string translated = translate(task.path("run"));

  const auto report = probe::probe_models({.subjects = {task.path("run")}});
  EXPECT_FALSE(report.figures.empty());
  const auto compared = probe::probe_models({.schemes = {"sandwich", "pre-ln"}, .layers = 1});
  EXPECT_FALSE(compared.figures.empty());

  const fs::path bundle = task.path("exported.residual");
  model::write_bundle(bundle, model.description(), model::stored_tensors(model).list, model);
  EXPECT_EQ(translate(bundle), translated);
  const fs::path int8 = task.path("int8");
  model::write_directory(int8, model.description(), model::int8_tensors(model).list, model);
  translate(int8);
  EXPECT_THAT([&] { interop::export_ctranslate2(model, task.path("ct2")); },
              ThrowsMessage<Error>(HasSubstr("is a sandwich model")));
  Progress::set_quiet(quiet);
}

}  // namespace
}  // namespace residual
