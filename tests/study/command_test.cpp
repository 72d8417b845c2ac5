// `residual study` as users run it, on a task that takes seconds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/shell.h"

namespace residual {
namespace {

using testing::HasSubstr;

// Sentences to be written backwards, a recipe, and a plan of two schemes.
constexpr const char* kSetUp = R"sh(
set -e
for i in $(seq 300); do echo "a b c $((i % 7)) d $((i % 5)) e $((i % 3))"; done > train.en
rev train.en > train.de
head -n 20 train.en > test.en
head -n 20 train.de > test.de
residual -q prepare --source-lang en --target-lang de --train train --test test \
  --set split.dev_every=20 --set text.tokenizer=none --set subwords.kind=none \
  --set clean.overlap=keep -o prepared > prepared.txt
cat > tiny.toml <<'E1'
[model]
width = 16
inner = 32
heads = 2
[batch]
max_tokens = 256
[schedule]
peak = 1e-2
warmup = 20
[train]
max_updates = 600
workers = 1
[checkpoint]
every_updates = 20
[log]
every_updates = 10
E1
cat > plan.toml <<'E2'
recipe = "tiny.toml"
corpus = "prepared"
depths = 1
baseline = "pre-ln"
probe_every = 20
schemes = [{ name = "pre-ln" }, { name = "resi-dual" }]
E2
set +e
)sh";

TEST(StudyCommand, InterruptedAndRunAgainEndsLikeAnUninterruptedOne) {
  const auto result = test::run(std::string(kSetUp) + R"sh(
residual -q study plan.toml -o whole || exit 9
residual study plan.toml -o cut 2> progress & pid=$!
until grep -qs '"update":40' cut/runs/pre-ln-e1d1-s1/speed.jsonl; do sleep 0.05; done
kill -INT $pid; wait $pid; echo "code $?"
residual study plan.toml -o cut --dry-run | grep -c ': resume'
residual -q study plan.toml -o cut || exit 9
for name in pre-ln-e1d1-s1 resi-dual-e1d1-s1; do
  cmp whole/runs/$name/last/model.safetensors cut/runs/$name/last/model.safetensors
  cmp whole/runs/$name/metrics.jsonl cut/runs/$name/metrics.jsonl
  cmp whole/results/plan/$name.en-de.txt cut/results/plan/$name.en-de.txt
done
residual study plan.toml -o cut --dry-run)sh");
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("code 130\n1\n"));
  EXPECT_THAT(result.output, HasSubstr("pre-ln-e1d1-s1: done\nresi-dual-e1d1-s1: done\n"));
}

// As a Slurm array runs them, each job with the number of its part.
TEST(StudyCommand, PartsRunApartMergeIntoTheWholeStudy) {
  const auto result = test::run(std::string(kSetUp) + R"sh(
residual -q study plan.toml --set set=train.max_updates=40 -o whole || exit 9
for SLURM_ARRAY_TASK_ID in 1 2; do
  residual -q study plan.toml --set set=train.max_updates=40 --shard $SLURM_ARRAY_TASK_ID/2 \
    -o part-$SLURM_ARRAY_TASK_ID || exit 9
  ls part-$SLURM_ARRAY_TASK_ID/runs
done
known=$(ls part-*/report/plan/runs.csv | sed 's/^/--known /')
residual -q study plan.toml --set set=train.max_updates=40 --report $known -o merged || exit 9
results() { cut -d , -f 1-12,14- $1/report/plan/runs.csv; }  # without the seconds
cmp <(results whole) <(results merged) && echo merged)sh");
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "pre-ln-e1d1-s1\nresi-dual-e1d1-s1\nmerged\n");
}

TEST(StudyCommand, KilledItTakesItsRunsAlongAndGoesOnWhereTheyStopped) {
  const auto result = test::run(std::string(kSetUp) + R"sh(
residual -q study plan.toml -o cut & pid=$!
until grep -qs '"update":40' cut/runs/pre-ln-e1d1-s1/speed.jsonl; do sleep 0.05; done
kill -KILL $pid; wait $pid
residual -q study plan.toml -o cut; echo "code $?"
grep -c converged cut/report/plan/report.md
grep -o '"kind":"probe","update":140' cut/runs/resi-dual-e1d1-s1/metrics.jsonl)sh");
  EXPECT_THAT(result.output, HasSubstr("code 0\n")) << result.error;
  EXPECT_THAT(result.output, HasSubstr("\"update\":140"));
}

}  // namespace
}  // namespace residual
