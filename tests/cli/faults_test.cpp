// Every command that writes something, with one of its file operations failing, one after the
// other.

#include <gtest/gtest.h>

#include <iostream>

#include "cli/tiny_tasks.h"
#include "support/reverse_model.h"
#include "support/shell.h"

namespace residual {
namespace {

// hunt STEP COMMAND CHECK: runs COMMAND with every STEP-th call under `w` failing, each time in a
// fresh copy of `template`, until it makes no more calls. It may end with an error that names the
// file, or bring about what it should; CHECK then says whether what is there is sound. Nothing
// unfinished may stay behind.
constexpr const char* kHunt = R"sh(
mkdir template
hunt() {
  local n=0 failed=0 code
  while n=$((n + $1)); do
    rm -rf w log
    cp -r template w
    env LD_PRELOAD="$faults" RESIDUAL_FAULT_UNDER="$PWD/w${under:-}" RESIDUAL_FAULT_AT=$n \
      RESIDUAL_FAULT_LOG="$PWD/log" $2 > out 2> err
    code=$?
    if [ ! -e log ]; then
      [ $code = 0 ] || echo "without a fault: code $code: $(cat err)"
      break
    fi
    [ $code -lt 128 ] || echo "$(cat log): died with code $code"
    if [ $code != 0 ]; then
      failed=$((failed + 1))
      grep -q 'w[/:]' out err || echo "$(cat log): names no file: $(cat err)"
    fi
    bash -c "$3" > found 2>&1 || echo "$(cat log), code $code: $(cat found) $(cat err)"
    find w -name '.*partial*' -o -name '*.spill-*' | sed "s|^|$(cat log): left |"
  done
  [ $n -gt $1 ] || echo "no call was seen"
  echo "$n calls in steps of $1, $failed errors" >&2
}
)sh";

void expect_silence(const std::string& script) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime must be the first library that is loaded";
#endif
  const auto result = test::run("faults='" + test::fault_library() + "'\n" + kHunt + script);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "") << result.error;
  std::cout << result.error;
}

// What a model command has written is complete, or was not written.
constexpr const char* kNew = " '[ ! -e w/out ] || residual verify w/out'\n";
constexpr const char* kOldOrNew = " 'residual verify w/out'\n";

TEST(Faults, InWritingAModelLeaveNoneOrAllOfIt) {
  expect_silence(test::make_reverse_model("m") +
                 "hunt 1 'residual export -m m --precision int8 -o w/out'" + kNew);
}

TEST(Faults, InReplacingAModelLeaveTheOldOrTheNewOne) {
  expect_silence(test::make_reverse_model("m") + "cp -r m template/out\n" +
                 "hunt 1 'residual export -m m --precision int8 --force -o w/out'" + kOldOrNew);
}

TEST(Faults, InWritingABundleLeaveTheOldOrTheNewOne) {
  expect_silence(test::make_reverse_model("m") +
                 "residual export -m m --to bundle -o template/out > /dev/null\n" +
                 "hunt 1 'residual export -m m --to bundle --force -o w/out'" + kOldOrNew);
}

TEST(Faults, InExportsToOtherToolkitsLeaveNoneOrAllOfThem) {
  expect_silence(test::make_reverse_model("m") + test::make_reverse_model("p", "post-ln") +
                 "hunt 1 'residual export -m m --to fairseq -o w/out'" + kNew +
                 "hunt 1 'residual export -m p --to ctranslate2 -o w/out'" + kNew);
}

TEST(Faults, InAveragingAndAcceptingLeaveAModelAsItWas) {
  expect_silence(test::make_reverse_model("m") + "hunt 1 'residual average m m -o w/out'" + kNew +
                 "cp -r m template/out\nhunt 1 'residual verify --accept w/out'" + kOldOrNew);
}

TEST(Faults, InPreparingLeaveTheOldOrTheNewCorpus) {
  expect_silence(std::string(test::kTinyTasks) + "cp -r prepared template/out\n" +
                 "hunt ${RESIDUAL_FAULT_STEP:-7} \"$tiny_prepare w/out\"" + kOldOrNew);
}

#ifdef RESIDUAL_TRAIN

// A run continues to the same bytes, whichever of its writes failed.
TEST(Faults, InTrainingCostNothingButTheTimeToRepeatIt) {
  expect_silence(std::string(test::kTinyTasks) + R"sh(
residual -q train tiny.toml -o whole 2> /dev/null
cat > check <<'E3'
set -e
[ ! -d w/run/checkpoints ] || residual verify w/run
residual -q train tiny.toml -o w/run --resume || residual -q train tiny.toml -o w/run
cmp w/run/last/model.safetensors whole/last/model.safetensors
cmp w/run/metrics.jsonl whole/metrics.jsonl
E3
hunt ${RESIDUAL_FAULT_STEP:-29} 'residual -q train tiny.toml -o w/run' 'bash check'
)sh");
}

TEST(Faults, InStudiesLeaveResultsThatAreSound) {
  expect_silence(std::string(test::kTinyTasks) + R"sh(
residual -q study plan.toml -o template > /dev/null 2>&1
rm -r template/results template/report
under=/results
hunt ${RESIDUAL_FAULT_STEP:-5} 'residual -q study plan.toml -o w' \
  'residual verify w && residual -q study plan.toml -o w && residual verify w'
)sh");
}

#endif

}  // namespace
}  // namespace residual
