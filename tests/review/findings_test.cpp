#include "review/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "review/curves.h"

namespace residual::review {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A run of `count` records that learns: 12 bits at first, 3 at the end.
Records learning(int count = 40) {
  Records r{.name = "run", .update = 100 * count};
  r.curves["train/nll"] = curve(count, [](int i) { return 3 + 9 * std::exp(-0.15 * i); });
  r.curves["train/loss"] = r.curves["train/nll"];
  r.curves["train/gradient_norm"] = curve(count, [](int i) { return 0.5 + 3.0 / (i + 1); });
  r.curves["valid/loss"] = curve(count, [](int i) { return 3.2 + 9 * std::exp(-0.15 * i); });
  return r;
}

void set_scheme(Records& r) {
  r.config.emplace();
  r.config->model.residual.name = "post-ln";
  r.config->schedule.warmup = 100;
}

std::vector<std::string> problems_of(const Records& r) {
  std::vector<std::string> texts;
  for (const auto& finding : findings(r)) {
    if (finding.severity == Severity::problem) texts.push_back(finding.text);
  }
  return texts;
}

std::string only_problem_of(const Records& r) {
  const auto texts = problems_of(r);
  EXPECT_EQ(texts.size(), 1U) << testing::PrintToString(texts);
  return texts.empty() ? "" : texts[0];
}

TEST(Findings, OfARunThatLearnsAreNone) {
  EXPECT_TRUE(findings(learning()).empty());
  EXPECT_TRUE(findings(learning(3)).empty());
  EXPECT_TRUE(findings({}).empty());
}

// A run that has converged does not fall any more, but its loss is far below ignorance.
TEST(Findings, OfARunThatHasConvergedAreNone) { EXPECT_TRUE(findings(learning(400)).empty()); }

TEST(Findings, NameTheUpdateAtWhichAStackStoppedReceivingGradients) {
  Records r = learning();
  set_scheme(r);
  r.curves["probe/decoder_gradient_low"] = curve(10, [](int i) { return i < 3 ? 0.3 : 1e-8; });
  r.curves["probe/decoder_gradient_high"] = curve(10, [](int i) { return i < 3 ? 0.8 : 1e-7; });
  EXPECT_THAT(only_problem_of(r),
              HasSubstr("The decoder of post-ln stopped receiving gradients at update 400"));
}

TEST(Findings, NameTheUpdateAtWhichLowerBlocksStoppedReceivingGradients) {
  Records r = learning();
  r.curves["probe/encoder_gradient_low"] = curve(10, [](int i) { return i < 5 ? 0.3 : 1e-5; });
  r.curves["probe/encoder_gradient_high"] = curve(10, [](int) { return 0.5; });
  EXPECT_THAT(only_problem_of(r),
              HasSubstr("The encoder: the lower blocks stopped receiving gradients at update 600"));
}

TEST(Findings, ForgetGradientsThatCameBack) {
  Records r = learning();
  r.curves["probe/encoder_gradient_low"] = curve(10, [](int i) { return i == 5 ? 1e-9 : 0.3; });
  r.curves["probe/encoder_gradient_high"] = curve(10, [](int) { return 0.5; });
  EXPECT_TRUE(findings(r).empty());
}

TEST(Findings, TellOfBlocksThatChangeNothing) {
  Records r = learning();
  r.curves["probe/encoder_change_high"] = curve(10, [](int i) { return i < 2 ? 0.3 : 0.01; });
  EXPECT_THAT(only_problem_of(r), HasSubstr("hardly change what they receive, at update 300"));
}

// As a collapsed model trains: it gives word frequencies, whatever the source is.
TEST(Findings, TellThatTheLossIsNotFalling) {
  Records r = learning();
  r.curves["train/nll"] = curve(40, [](int i) { return i < 2 ? 12 : 9.4 + 0.01 * (i % 2); });
  EXPECT_THAT(only_problem_of(r),
              AllOf(HasSubstr("The loss is not falling: 9.4"), HasSubstr("12.00")));
  r.curves["train/gradient_norm"] = curve(40, [](int i) { return i < 2 ? 5 : 0.01; });
  EXPECT_THAT(only_problem_of(r), HasSubstr("the model has stopped learning"));
  set_scheme(r);  // of a model with so few words that 9.4 bits were learnt
  r.config->model.target_vocabulary = 1 << 20;
  EXPECT_TRUE(findings(r).empty());
}

TEST(Findings, TellThatTheRunDiverges) {
  Records r = learning();
  r.curves["train/nll"] = curve(40, [](int i) { return i < 30 ? 12 - 0.3 * i : 9.0; });
  EXPECT_THAT(only_problem_of(r),
              HasSubstr("The training loss rose at update 3,100: from 3.30 to"));
}

TEST(Findings, TellOfOverfittingSinceTheBestUpdate) {
  Records r = learning();
  r.curves["valid/loss"] = curve(40, [](int i) { return 4 + 0.01 * std::abs(i - 20); });
  EXPECT_THAT(only_problem_of(r),
              AllOf(HasSubstr("Overfitting since update 2,100"), HasSubstr("from 4.000 to 4.190")));
  r.curves["valid/loss"] = curve(40, [](int i) { return 4 + (i == 30 ? 1 : 0); });
  EXPECT_TRUE(findings(r).empty());  // a single bad validation
}

TEST(Findings, TellOfNumbersThatAreNone) {
  Records r = learning();
  r.curves["train/loss"].value.back() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(only_problem_of(r), HasSubstr("The training loss is not a number, at update 4,000"));
}

TEST(Findings, TellOfSkippedUpdatesByTheirCause) {
  Records r = learning();
  r.curves["train/skipped"] = curve(40, [](int i) { return i < 10 ? 0 : 3; });
  EXPECT_THAT(only_problem_of(r), HasSubstr("3 updates were skipped because a loss or gradient was "
                                            "not finite, the first before update 1,100"));
  set_scheme(r);
  r.config->train.precision = run::TrainingPrecision::fp16;
  r.curves["train/loss_scale"] = curve(40, [](int) { return 64; });
  EXPECT_TRUE(problems_of(r).empty());
  EXPECT_THAT(findings(r).at(0).text, AllOf(HasSubstr("which is usual"), HasSubstr("by 64")));
  r.curves["train/skipped"] = curve(40, [](int i) { return 40 * i; });
  EXPECT_THAT(only_problem_of(r), HasSubstr("fp16: 400 of the last 1,400 updates overflowed"));
}

TEST(Findings, TellOfJumpsOfTheGradientNorm) {
  Records r = learning();
  r.curves["train/gradient_norm"].value[30] = 50;
  const auto found = findings(r);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::note);
  EXPECT_THAT(found[0].text, HasSubstr("once, at most to 50 before update 3,100"));
}

TEST(Findings, TellOfAWarmUp) {
  Records r = learning();
  set_scheme(r);
  r.config->schedule.warmup = 8000;
  r.curves["train/learning_rate"] = curve(40, [](int i) { return 1e-6 * i; });
  EXPECT_THAT(findings(r).at(0).text,
              HasSubstr("The learning rate is still warming up: update 4,000 of 8,000"));
  r.config->train.max_updates = 5000;
  EXPECT_THAT(only_problem_of(r), HasSubstr("warms up for longer than the run lasts"));
}

TEST(Findings, TellHowTheRunEnded) {
  Records r = learning();
  r.state = State::failed;
  r.last_message = "error: update 12: loss or gradient is not finite";
  EXPECT_EQ(only_problem_of(r),
            "The run ended with an error: update 12: loss or gradient is not finite");
  r.state = State::killed;
  EXPECT_THAT(only_problem_of(r), HasSubstr("residual train --resume"));
}

}  // namespace
}  // namespace residual::review
