// residual doctor: it finds what is there, and what is broken on purpose.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/shell.h"

namespace residual {
namespace {

using nlohmann::json;
using test::run;
using testing::HasSubstr;
using testing::Not;

json check(const std::string& name, const std::string& before = "") {
  const json report = json::parse(run(before + " residual doctor --quick --json").output);
  for (const auto& each : report["checks"]) {
    if (each["name"] == name) return each;
  }
  ADD_FAILURE() << "no check " << name << " in " << report;
  return {};
}

TEST(Doctor, PassesItsSelfTestHere) {
  const auto result = run("residual doctor --json");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const json report = json::parse(result.output);
  EXPECT_TRUE(report["works"]);
  for (const auto& each : report["checks"]) {
    EXPECT_NE(each["status"], "problem") << each;
    if (each["name"] == "speed") {
      EXPECT_GT(each["figures"]["fp32_gflops"], 0.1);
    }
  }
  for (const char* name : {"fp32 product", "int8 product", "translation", "speed", "training"}) {
    EXPECT_THAT(result.output, HasSubstr(name));
  }
}

TEST(Doctor, CountsTheCoresOfThisProcess) {
  const json one = check("cores", "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')");
  EXPECT_EQ(one["figures"]["usable"], 1);
  EXPECT_EQ(one["status"], one["figures"]["online"] > 1 ? "note" : "ok");
}

TEST(Doctor, SaysHowToMendATemporaryDirectoryThatIsNotThere) {
  const auto result = run("TMPDIR=/nonexistent residual doctor --quick");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("problem  temporary     /nonexistent: no such directory\n"));
  EXPECT_THAT(result.output, HasSubstr("-> export TMPDIR="));
  EXPECT_THAT(result.output, HasSubstr("1 to fix"));
}

TEST(Doctor, NotesALocaleThatIsNotUtf8AndALimitOfMemory) {
  EXPECT_EQ(check("locale", "LC_ALL=C")["status"], "note");
  EXPECT_EQ(check("locale", "LC_ALL=C.UTF-8")["status"], "ok");
  const json memory = check("memory", "ulimit -v 1000000;");
  EXPECT_EQ(memory["status"], "note");
  EXPECT_LT(memory["figures"]["free_gb"], 1.1);
}

TEST(Doctor, KnowsAResidualTrainThatIsMissingOrOfAnotherVersion) {
  const std::string alone = "cp \"$(command -v residual)\" . && mkdir bin && ";
  const auto missing = run(alone + "PATH=bin ./residual doctor --quick");
  EXPECT_EQ(missing.exit_code, 0) << missing.output;
  EXPECT_THAT(missing.output, HasSubstr("residual-train is not installed"));

  const auto other = run(alone +
                         "printf '#!/bin/sh\\necho \"residual 0.0.1 (abc)\"\\n' > "
                         "bin/residual-train && chmod +x bin/* && "
                         "PATH=$PWD/bin:$PATH ./residual doctor --quick");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.output, HasSubstr("it is residual 0.0.1 (abc), this is residual "));
  EXPECT_THAT(other.output, HasSubstr("-> install both from one build"));
}

TEST(Doctor, IsQuickWithoutTheSelfTest) {
  EXPECT_THAT(run("residual doctor --quick").output, Not(HasSubstr("product")));
}

// The CPU stands for a GPU: its reference operators against themselves.
TEST(Doctor, ComparesEverySchemeOnADevice) {
  const json report = json::parse(run("residual doctor --device cpu --json").output);
  EXPECT_TRUE(report["works"]) << report;
  std::set<std::string> names;
  for (const auto& each : report["checks"]) names.insert(each["name"]);
  for (const char* name : {"post-ln", "resi-dual", "hyper-connections", "bf16", "device"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Doctor, SaysThatThereIsNoSuchDevice) {
  const auto result = run("residual doctor --device cuda:99");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("problem  device        cuda:99 cannot be used"));
}

}  // namespace
}  // namespace residual
