#include "review/records.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>

#include "support/error_of.h"
#include "support/temporary.h"

namespace residual::review {
namespace {

class ReadRecords : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    replace_file(run_.path() / name, text);
  }
  Records read() const { return read_records(run_.path()); }

  const test::TemporaryDirectory run_;
};

TEST_F(ReadRecords, GivesACurveForEachNumber) {
  write("metrics.jsonl",
        R"({"kind":"train","update":10,"loss":9.5,"skipped":0}
{"kind":"train","update":20,"loss":null,"skipped":1}
{"kind":"valid","update":20,"loss":8.5,"bleu":1.5}
{"kind":"probe","update":20,"decoder_gradient_low":0.1,"decoder_gradients":[0.1,0.2]}
)");
  write("speed.jsonl", "{\"update\":10,\"tokens_per_second\":100}\n");
  const Records r = read();
  EXPECT_EQ(r.curve("train/loss").update, (std::vector<double>{10, 20}));
  EXPECT_TRUE(std::isnan(r.curve("train/loss").value[1]));
  EXPECT_EQ(r.curve("valid/bleu").value, std::vector<double>{1.5});
  EXPECT_EQ(r.curve("speed/tokens_per_second").value, std::vector<double>{100});
  EXPECT_EQ(r.gradients.at("decoder").at(0).norms, (std::vector<double>{0.1, 0.2}));
  EXPECT_TRUE(r.curve("train/unknown").empty());
  EXPECT_EQ(r.update, 20);
}

// The run may write the last line at this moment.
TEST_F(ReadRecords, LeavesOutWhatIsNotWhole) {
  write("metrics.jsonl",
        "{\"kind\":\"train\",\"update\":1,\"loss\":2}\nnonsense\n[1]\n{\"kind\":3}\n"
        "{\"kind\":\"train\",\"update\":2,\"loss\":3}");
  EXPECT_EQ(read().curve("train/loss").update, std::vector<double>{1});
}

// speed.jsonl keeps the lines of updates that a resume computes again.
TEST_F(ReadRecords, TakesTheLaterLineOfAnUpdate) {
  write("metrics.jsonl", "");
  write("speed.jsonl",
        "{\"update\":10,\"seconds\":1}\n{\"update\":20,\"seconds\":2}\n"
        "{\"update\":10,\"seconds\":3}\n{\"update\":30,\"seconds\":4}\n");
  EXPECT_EQ(read().curve("speed/seconds").update, (std::vector<double>{10, 30}));
  EXPECT_EQ(read().curve("speed/seconds").value, (std::vector<double>{3, 4}));
}

TEST_F(ReadRecords, GivesTheSamplesOfEachValidation) {
  write("metrics.jsonl",
        R"({"kind":"samples","update":5,"samples":[{"source":"a","reference":"b","hypothesis":"c"}]}
)");
  const Records r = read();
  ASSERT_EQ(r.samples.size(), 1U);
  EXPECT_EQ(r.samples[0].update, 5);
  EXPECT_EQ(r.samples[0].sentences.at(0).hypothesis, "c");
}

TEST_F(ReadRecords, TellHowARunEndedByItsLastMessage) {
  write("metrics.jsonl", "");
  const std::string time = "2026-11-19 04:21:31  ";
  const auto state = [&](const std::string& message) {
    write("log.txt", time + "resumed after update 5\n" + time + message + "\n");
    return read().state;
  };
  EXPECT_EQ(state("finished after update 10; 4 GB of memory at most"), State::finished);
  EXPECT_EQ(state("stopped after update 7; continue with: residual train"), State::stopped);
  EXPECT_EQ(state("error: the disk is full\nremove something"), State::failed);
  EXPECT_EQ(read().last_message, "error: the disk is full\nremove something");
  EXPECT_EQ(state("update 8/10 | epoch 1"), State::killed);
}

TEST_F(ReadRecords, TellWhetherAProcessTrains) {
  write("metrics.jsonl", "");
  EXPECT_EQ(read().state, State::killed);
  const int lock = ::open((run_.path() / "lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  EXPECT_EQ(read().state, State::running);
  ::close(lock);
  EXPECT_EQ(read().state, State::killed);
}

TEST_F(ReadRecords, RefuseOtherDirectories) {
  EXPECT_NE(test::error_of([&] { read(); }).find("holds no run"), std::string::npos);
  EXPECT_NE(test::error_of([&] { read_records(run_.path() / "none"); }).find("not a directory"),
            std::string::npos);
}

// Of a version that has other keys.
TEST_F(ReadRecords, DoWithoutAConfigurationThatTheyCannotRead) {
  write("metrics.jsonl", "{\"kind\":\"train\",\"update\":1,\"loss\":2}\n");
  write("config.toml", "future = 1\n");
  EXPECT_FALSE(read().config);
  EXPECT_EQ(read().curve("train/loss").size(), 1U);
}

}  // namespace
}  // namespace residual::review
