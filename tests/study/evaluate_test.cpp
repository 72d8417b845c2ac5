#include "study/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/prepare.h"
#include "support/temporary.h"

namespace residual::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TestSets, AreScoredByTheCorpusOwnWordsIfThePlanSaysSo) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "train.de", "Das ist's.\n");
  replace_file(directory / "train.en", "That's it.\n");
  data::Recipe recipe;
  recipe.data = directory.path().string();
  recipe.pairs = {"de-en"};
  recipe.dev = {};
  recipe.test = {"train"};
  recipe.clean.overlap = data::Overlap::keep;
  recipe.text.lowercase = true;
  recipe.subwords.kind = data::SubwordKind::none;
  Progress::set_quiet(true);
  log::set_level(log::Level::error);
  data::prepare(recipe, {.output = directory / "prepared"});
  log::set_level(log::Level::info);
  Progress::set_quiet(false);

  Plan plan;
  plan.evaluate.tokenizer = "corpus";
  const TestSet test = load_tests(plan, directory / "prepared").at(0);
  EXPECT_THAT(test.references, ElementsAre("that &apos;s it ."));
  EXPECT_EQ(test.scored({"That's it."}), test.references);
  EXPECT_THAT(metrics::Bleu(test.bleu).signature(1).text(),
              HasSubstr("case:lc|eff:no|tok:none|smooth:none"));

  plan.evaluate.tokenizer = "13a";
  EXPECT_THAT(load_tests(plan, directory / "prepared").at(0).references, ElementsAre("That's it."));

  plan.evaluate.tests = {{.name = "own",
                          .source = (directory / "train.de").string(),
                          .reference = (directory / "train.en").string(),
                          .direction = "en-de"}};
  EXPECT_THAT([&] { load_tests(plan, directory / "prepared"); },
              testing::ThrowsMessage<Error>(HasSubstr("own is en-de, expected one of de-en")));
  for (const char* direction : {"", "de-en"}) {
    plan.evaluate.tests[0].direction = direction;
    EXPECT_EQ(load_tests(plan, directory / "prepared").at(0).target, "en");
  }
}

// Stored results carry it: were it another number after a key was added to recipes or plans, all
// studies would be scored again.
TEST(Fingerprint, IsOfWhatIsNotAsByDefault) {
  Plan plan;
  Cell cell{.name = "a", .scheme = 0, .depth = 0, .schedule = 0, .seed = 0};
  cell.config.schedule.peak = 0.25;
  plan.evaluate.tests = {{.name = "own", .length_penalty = 1}};
  EXPECT_EQ(fingerprint(plan, cell), "fa4a54d403c739c5");
  plan.evaluate.samples = 20;
  cell.config.train.device = "cuda";
  EXPECT_EQ(fingerprint(plan, cell), "fa4a54d403c739c5");
  plan.evaluate.beam = 4;
  EXPECT_NE(fingerprint(plan, cell), "fa4a54d403c739c5");
  plan.evaluate.beam = EvaluatePlan{}.beam;
  cell.config.train.on_nonfinite = run::OnNonfinite::skip;
  EXPECT_NE(fingerprint(plan, cell), "fa4a54d403c739c5");
}

}  // namespace
}  // namespace residual::study
