// Commands killed at random moments. RESIDUAL_KILLS is the number of kills of all tests together.

#include <gtest/gtest.h>

#include <iostream>

#include "cli/tiny_tasks.h"
#include "support/reverse_model.h"
#include "support/shell.h"

namespace residual {
namespace {

// hunt COMMAND CHECK [KEEP [ENDED]]: runs COMMAND to its end once for its duration, then KEEP, and
// then COMMAND up to a random moment, until it was killed `kills` times, with its children. CHECK
// follows each time, and ENDED where COMMAND came to its end first.
constexpr const char* kHunt = R"sh(
RANDOM=28
kills=$(( (${RESIDUAL_KILLS:-20} + 3) / 4 ))
hunt() {
  local i begin end ended pid killed=0
  begin=$(date +%s%N)
  bash -c "exec $1" > /dev/null 2> err || echo "not killed: $(cat err)"
  end=$(date +%s%N)
  eval "${3:-}"
  for i in $(seq $((20 * kills))); do
    [ $killed -lt $kills ] || break
    bash -c "exec $1" > /dev/null 2>&1 & pid=$!
    sleep "$(( (end - begin) / 1000000 * (RANDOM % 1000) / 1000 ))e-3"
    kill -KILL $pid $(pgrep -P $pid) 2> /dev/null && killed=$((killed + 1))
    wait $pid 2> /dev/null && ended=true || ended=false
    bash -c "$2" > found 2>&1 || echo "kill $i: $(cat found)"
    ! $ended || eval "${4:-}"
  done
  echo "$killed of $kills killed" >&2
}
)sh";

void expect_silence(const std::string& script) {
  const auto result = test::run(kHunt + script);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "") << result.error;
  std::cout << result.error;
}

TEST(Kills, OfExportLeaveTheOldOrTheNewModel) {
  expect_silence(test::make_reverse_model("m") + R"sh(
cp -r m out
hunt 'residual export -m m --force -o out' 'residual verify out'
residual export -m m --force -o out > /dev/null
residual verify out > /dev/null && find . -name '.*partial*'
)sh");
}

TEST(Kills, OfPrepareLeaveTheOldOrTheNewCorpus) {
  expect_silence(std::string(test::kTinyTasks) + R"sh(
cp -r prepared out
hunt "${tiny_prepare//$'\n'/ } out" 'residual verify out'
$tiny_prepare out > /dev/null
residual verify out > /dev/null && find . -name '.*partial*'
cmp prepared/prepared.toml out/prepared.toml
)sh");
}

#ifdef RESIDUAL_TRAIN

TEST(Kills, OfTrainingEndWithTheBytesOfAnUnbrokenRun) {
  expect_silence(std::string(test::kTinyTasks) + R"sh(
sed -i 's/max_updates = 40/max_updates = 400/' tiny.toml
cat > go <<'E3'
[ -n "$(ls run/checkpoints 2> /dev/null)" ] && how=--resume
exec residual -q train tiny.toml -o run ${how:---force}
E3
same() {
  cmp run/last/model.safetensors whole/last/model.safetensors
  cmp run/metrics.jsonl whole/metrics.jsonl
}
hunt 'bash go' '[ ! -d run/checkpoints ] || residual verify run' 'mv run whole' 'same; rm -r run'
bash go 2> err || cat err
same
residual verify run > /dev/null && find run -name '.*partial*'
)sh");
}

TEST(Kills, OfAStudyEndWithTheResultsOfAnUnbrokenOne) {
  expect_silence(std::string(test::kTinyTasks) + R"sh(
sed -i 's/max_updates = 40/max_updates = 200/' tiny.toml
same() {
  local name
  for name in pre-ln-e1d1-s1 resi-dual-e1d1-s1; do
    cmp study/runs/$name/last/model.safetensors whole/runs/$name/last/model.safetensors
    cmp study/results/plan/$name.en-de.txt whole/results/plan/$name.en-de.txt
  done
}
hunt 'residual -q study plan.toml -o study' '[ ! -d study/results ] || residual verify study' \
  'mv study whole' 'same; rm -r study'
residual -q study plan.toml -o study > /dev/null 2> err || cat err
same
residual verify study > /dev/null && find study -name '.*partial*'
)sh");
}

#endif

}  // namespace
}  // namespace residual
