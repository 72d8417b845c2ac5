#include "serve/training/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "serve/running.h"
#include "support/error_of.h"
#include "support/temporary.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ServedRuns : public testing::Test {
 protected:
  ServedRuns() {
    for (const std::string name : {"a", "study/runs/b"}) {
      fs::create_directories(runs_ / name);
      replace_file(runs_ / name / "config.toml", "");
      replace_file(runs_ / name / "metrics.jsonl",
                   "{\"kind\":\"train\",\"update\":7,\"loss\":3}\n");
    }
  }

  ServerOptions options() const { return {.runs = runs_.path()}; }

  const test::TemporaryDirectory runs_;
};

const std::shared_ptr<decode::Translator> kNoModel;

TEST_F(ServedRuns, AreListedAndReportedWithoutAModel) {
  const Running server(options(), kNoModel);
  const json list = json::parse(server.get("/runs/list"))["runs"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1]["name"], "study/runs/b");
  EXPECT_EQ(list[1]["update"], 7);
  const json report = json::parse(server.get("/runs/report?run=study/runs/b"));
  EXPECT_EQ(report["title"], "Training of study/runs/b");
  EXPECT_EQ(report["figures"][0]["rows"], json({{7.0, 3.0}}));
  const json both = json::parse(server.get("/runs/report?run=a&run=study/runs/b"));
  EXPECT_EQ(both["title"], "2 runs");
  EXPECT_THAT(server.get("/runs"), HasSubstr("<title>Training runs</title>"));
  EXPECT_EQ(server.request("GET", "/").header("Location"), "/runs");
  EXPECT_EQ(server.post("{\"text\": \"a\"}").status, 404);
}

TEST_F(ServedRuns, AreShownBesideAModel) {
  const Running server(options());
  EXPECT_EQ(server.request("GET", "/").status, 200);
  EXPECT_EQ(server.post("{\"text\": \"w1\"}").status, 200);
  EXPECT_EQ(server.request("GET", "/runs/list").status, 200);
  const Running other;
  EXPECT_EQ(other.request("GET", "/runs/list").status, 404);
}

// A client that has an answer gets another only when a run has written more.
TEST_F(ServedRuns, AreSentAgainOnlyIfTheyHaveChanged) {
  const Running server(options(), kNoModel);
  for (const std::string path : {"/runs/list", "/runs/report?run=a"}) {
    const std::string tag = server.request("GET", path).header("ETag");
    const Headers known = {{"If-None-Match", tag}};
    EXPECT_EQ(server.request("GET", path, "", known).status, 304);
    replace_file(runs_ / "a/metrics.jsonl", read_file(runs_ / "a/metrics.jsonl") +
                                                "{\"kind\":\"train\",\"update\":8,\"loss\":2}\n");
    const Received news = server.request("GET", path, "", known);
    EXPECT_EQ(news.status, 200);
    EXPECT_THAT(news.body, HasSubstr("8"));
  }
}

TEST_F(ServedRuns, AreChosenByNameOnly) {
  const Running server(options(), kNoModel);
  for (const std::string& name : std::vector<std::string>{
           "..", "../" + runs_.path().filename().string() + "/a", "/etc", "a/..", "a/", "./a",
           "study/runs", "%2e%2e", "a%00", runs_.path().string() + "/a"}) {
    EXPECT_EQ(server.request("GET", "/runs/report?run=" + name).status, 404) << name;
  }
  EXPECT_EQ(server.request("GET", "/runs/report").status, 400);
  std::string many = "/runs/report?run=a";
  for (int i = 0; i < 40; ++i) many += "&run=a";
  EXPECT_EQ(server.request("GET", many).status, 400);
  EXPECT_EQ(server.request("POST", "/runs/report?run=a", "x").status, 405);
  EXPECT_EQ(server.request("GET", "/runs/../../etc/passwd").status, 404);
}

TEST_F(ServedRuns, MayComeAndGo) {
  const Running server(options(), kNoModel);
  fs::remove_all(runs_ / "a");
  EXPECT_EQ(json::parse(server.get("/runs/list"))["runs"].size(), 1U);
  fs::remove_all(runs_.path() / "study");
  EXPECT_EQ(json::parse(server.get("/runs/list"))["runs"].size(), 0U);
  EXPECT_EQ(server.request("GET", "/runs/report?run=a").status, 404);
}

TEST(Runs, NeedADirectory) {
  EXPECT_THAT(test::error_of([] { Runs("/nowhere"); }), HasSubstr("/nowhere: is not a directory"));
}

}  // namespace
}  // namespace residual::serve
