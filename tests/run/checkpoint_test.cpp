#include "run/checkpoint.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "model/parameters.h"
#include "support/temporary.h"

namespace residual::run {
namespace {

using testing::HasSubstr;

model::Config small() {
  model::Config config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  config.inner = 16;
  config.heads = 2;
  config.source_vocabulary = config.target_vocabulary = 12;
  return config;
}

Checkpoint checkpoint_of(int64_t update) {
  Checkpoint c;
  const auto size = static_cast<size_t>(model::parameter_count(small()));
  for (size_t i = 0; i < size; ++i) {
    c.values.push_back(static_cast<float>(i));
    c.m.push_back(-static_cast<float>(i));
    c.v.push_back(static_cast<float>(update));
  }
  c.state.update = update;
  c.state.position = {.epoch = 2, .batch = 7};
  c.state.sums.loss = 0.1;  // has no short binary form
  c.state.best = {{40, 3.25}, {20, 3.5}};
  c.state.epoch_ends = {10, 20};
  return c;
}

class Checkpoints : public testing::Test {
 protected:
  Checkpoints() { log::set_level(log::Level::off); }
  ~Checkpoints() override { log::set_level(log::Level::info); }

  // One byte in the middle of the tensors becomes another.
  void damage(int64_t update) const {
    std::fstream file(directory_ / checkpoint_name(update),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-100, std::ios::end);
    file.put('\x55');
  }

  test::TemporaryDirectory directory_;
  CheckpointStore store_{directory_.path(), small()};
};

TEST_F(Checkpoints, ComeBackToTheLastBit) {
  const Checkpoint written = checkpoint_of(50);
  store_.write(written);
  const auto read = store_.newest();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->values, written.values);
  EXPECT_EQ(read->m, written.m);
  EXPECT_EQ(read->v, written.v);
  EXPECT_TRUE(read->average.empty());
  EXPECT_EQ(to_toml(read->state), to_toml(written.state));
}

TEST_F(Checkpoints, MayHaveAnAverageOfTheParametersThatIsTheirModel) {
  Checkpoint written = checkpoint_of(50);
  written.average = written.m;
  store_.write(written);
  EXPECT_EQ(store_.newest()->average, written.average);
  const auto file = model::SafeTensors::open(directory_ / checkpoint_name(50));
  EXPECT_EQ(model_prefix(file), "average.");
  EXPECT_EQ(model_tensors(file).size(), model::parameters(small()).size());
}

TEST_F(Checkpoints, AreNoneInAnEmptyDirectory) { EXPECT_FALSE(store_.newest()); }

TEST_F(Checkpoints, ThatAreDamagedGiveWayToTheOneBefore) {
  for (const int64_t update : {10, 20, 30}) store_.write(checkpoint_of(update));
  damage(30);
  EXPECT_EQ(store_.newest()->state.update, 20);
  fs::resize_file(directory_ / checkpoint_name(20), 200);
  EXPECT_EQ(store_.newest()->state.update, 10);
  damage(10);
  EXPECT_THROW(store_.newest(), Error);
}

TEST_F(Checkpoints, DamageInTheStateIsSeenToo) {
  store_.write(checkpoint_of(10));
  const fs::path path = directory_ / checkpoint_name(10);
  std::string bytes = read_file(path);
  const size_t at = bytes.find("update = 10");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 9] = '9';
  replace_file(path, bytes);
  try {
    verify_checkpoint(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not match its checksum"));
  }
}

TEST_F(Checkpoints, OfAnotherArchitectureAreRefused) {
  store_.write(checkpoint_of(10));
  model::Config other = small();
  other.width = 16;
  EXPECT_THROW(read_checkpoint(directory_ / checkpoint_name(10), other), Error);
  other = small();
  other.residual.name = "post-ln";
  EXPECT_THROW(read_checkpoint(directory_ / checkpoint_name(10), other), Error);
}

TEST_F(Checkpoints, AllButTheLatestAndTheNamedAreRemoved) {
  for (const int64_t update : {10, 20, 30, 40, 50}) store_.write(checkpoint_of(update));
  store_.prune(50, 2, {20});
  const auto left = [&] {
    std::vector<int64_t> updates;
    for (const auto& [update, path] : store_.list()) updates.push_back(update);
    return updates;
  };
  EXPECT_THAT(left(), testing::ElementsAre(20, 40, 50));
  store_.write(checkpoint_of(30));  // of a run that went on from 20, since the others were damaged
  store_.prune(30, 1, {});
  EXPECT_THAT(left(), testing::ElementsAre(30, 40, 50));
}

// Fails the n-th call of one kind, as a full disk or a broken one would.
class FailingSystem : public FileSystem {
 public:
  explicit FailingSystem(std::string call) : call_(std::move(call)) {}

  void write(int file, const fs::path& path, std::string_view bytes) override {
    trip("write", path);
    FileSystem::write(file, path, bytes);
  }
  void sync(int file, const fs::path& path) override {
    trip("sync", path);
    FileSystem::sync(file, path);
  }
  void rename(const fs::path& from, const fs::path& to) override {
    trip("rename", from);
    FileSystem::rename(from, to);
  }

 private:
  void trip(const std::string& call, const fs::path& path) const {
    if (call == call_) fail("{}: cannot {}: No space left on device", path.string(), call);
  }
  std::string call_;
};

TEST_F(Checkpoints, ThatCannotBeWrittenLeaveTheLastGoodOneAlone) {
  store_.write(checkpoint_of(10));
  const std::string good = read_file(directory_ / checkpoint_name(10));
  for (const char* call : {"write", "sync", "rename"}) {
    SCOPED_TRACE(call);
    FailingSystem system(call);
    const CheckpointStore failing(directory_.path(), small(), system);
    EXPECT_THROW(failing.write(checkpoint_of(20)), Error);
    EXPECT_THROW(failing.write(checkpoint_of(10)), Error);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1)
        << "something is left behind";
    EXPECT_EQ(read_file(directory_ / checkpoint_name(10)), good);
    EXPECT_EQ(store_.newest()->state.update, 10);
  }
}

}  // namespace
}  // namespace residual::run
