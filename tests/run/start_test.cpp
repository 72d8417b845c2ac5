#include "run/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "interop/export.h"
#include "model/export.h"
#include "support/error_of.h"
#include "support/model_files.h"
#include "support/tiny_run.h"

namespace residual::run {
namespace {

using test::error_of;
using testing::HasSubstr;

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
  interop::export_fairseq(model, task.path("fairseq"));
  const auto error_from = [&](const char* name) {
    config.train.start_from = task.path(name).string();
    return error_of([&] { start_values(config, corpora); });
  };
  EXPECT_EQ(error_from("m"), "");
  EXPECT_THAT(error_from("int8"),
              HasSubstr("int8: is int8; start from the model it was made from"));
  EXPECT_THAT(error_from("fairseq"), HasSubstr("fairseq: has no config.toml"));
}

}  // namespace
}  // namespace residual::run
