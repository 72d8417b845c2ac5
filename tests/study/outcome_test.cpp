#include "study/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "model/directory.h"
#include "support/tiny_run.h"

namespace residual::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Record validated(std::vector<double> nll) {
  Record record;
  for (size_t i = 0; i < nll.size(); ++i) record.dev.x.push_back(static_cast<double>(i));
  record.dev.y = std::move(nll);
  return record;
}

TEST(Convergence, IsBeingBetterThanWordFrequencies) {
  EXPECT_TRUE(judge(validated({9, 7.9}), ScoredWeights::last, 8).converged);
  EXPECT_FALSE(judge(validated({9, 8}), ScoredWeights::last, 8).converged);
  EXPECT_THAT(judge(validated({9, 9}), ScoredWeights::last, 8).reason,
              HasSubstr("512.0, not below the 256.0"));
}

TEST(Convergence, IsThatOfTheModelWhichIsScored) {
  EXPECT_FALSE(judge(validated({5, 12}), ScoredWeights::last, 8).converged);
  EXPECT_FALSE(judge(validated({5, 12}), ScoredWeights::average, 8).converged);
  Record record = validated({5, 6, 12});
  record.best = 1;  // by BLEU
  EXPECT_TRUE(judge(record, ScoredWeights::best, 8).converged);
  EXPECT_EQ(judge(record, ScoredWeights::best, 8).dev_nll, 6);
}

TEST(Convergence, NeedsFiniteNumbersAndAValidation) {
  Record record = validated({5});
  record.nonfinite = true;
  record.updates = 12;
  EXPECT_THAT(judge(record, ScoredWeights::last, 8).reason,
              HasSubstr("not finite after update 12"));
  EXPECT_FALSE(judge(validated({}), ScoredWeights::best, 8).converged);
  EXPECT_FALSE(judge(validated({5, NAN}), ScoredWeights::last, 8).converged);
  record = validated({NAN, 5});
  record.best = 1;
  EXPECT_TRUE(judge(record, ScoredWeights::best, 8).converged);
}

TEST(Convergence, WordFrequenciesAreThoseOfTheDevTargetsWithTheirEnds) {
  const test::ReverseTask task;
  std::map<std::string, double> counts;
  double total = 0;
  std::istringstream lines(read_file(task.path("dev.de")));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line + " </s>");
    for (std::string word; words >> word; ++total) ++counts[word];
  }
  double entropy = 0;
  for (const auto& [word, n] : counts) entropy -= n / total * std::log2(n / total);
  EXPECT_NEAR(unigram_entropy(task.prepared()), entropy, 1e-9);
}

TEST(Record, IsWhatTheRunWroteDown) {
  const test::TemporaryDirectory run;
  replace_file(run / "metrics.jsonl",
               R"({"kind":"train","update":10,"loss":9.5,"nll":9.0})"
               "\n"
               R"({"kind":"valid","update":10,"loss":9.1,"nll":8.5})"
               "\n"
               R"({"kind":"probe","update":10,"encoder_gradients":[1,2],"encoder_changes":[3]})"
               "\n"
               R"({"kind":"valid","update":20,"nll":null})"
               "\n"
               R"({"kind":"train","upd)");  // killed while writing
  replace_file(run / "speed.jsonl", R"({"update":10,"seconds":1.5})"
                                    "\n"
                                    R"({"update":20,"seconds":2.0})"
                                    "\n");
  const Record record = read_record(run.path());
  EXPECT_THAT(record.train.y, ElementsAre(9.0));
  EXPECT_THAT(record.dev.y, ElementsAre(8.5, testing::IsNan()));
  EXPECT_THAT(record.probes.at(0).gradients.at(0), ElementsAre(1, 2));
  EXPECT_EQ(record.updates, 20);
  EXPECT_EQ(record.seconds, 3.5);
  EXPECT_EQ(record.best, -1);
  EXPECT_FALSE(record.nonfinite);
  fs::create_directory(run / "nonfinite-000000020");  // that it went on from
  EXPECT_FALSE(read_record(run.path()).nonfinite);
  fs::create_directory(run / "nonfinite-000000021");
  EXPECT_TRUE(read_record(run.path()).nonfinite);
  model::Description best;
  best.update = 10;
  fs::create_directory(run / "best");
  replace_file(run / "best" / model::kConfigFile, to_toml(best));
  EXPECT_EQ(read_record(run.path()).best, 10);
}

TEST(Record, OfARunThatHasNotBegunIsEmpty) { EXPECT_EQ(read_record("nowhere").updates, 0); }

}  // namespace
}  // namespace residual::study
