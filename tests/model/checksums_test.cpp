#include "model/checksums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/checksum.h"
#include "base/error.h"
#include "base/parallel.h"
#include "model/export.h"
#include "support/error_of.h"
#include "support/model_files.h"
#include "support/temporary.h"

namespace residual::model {
namespace {

using residual::test::error_of;
using residual::test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;

void flip(const fs::path& file, size_t at) {
  std::string bytes = read_file(file);
  bytes[at] ^= 1;
  replace_file(file, bytes);
}

class CheckedModel : public testing::Test {
 protected:
  CheckedModel() { test::write_small_model(model_, test::small_config()); }
  std::string opening(Check check = Check::now) const {
    return error_of([&] {
      const auto opened = Directory::open(model_, check);
      opened.source_vocabulary();
      opened.segmenter("en");
      opened.check();
    });
  }

  TemporaryDirectory directory_;
  fs::path model_ = directory_ / "m";
};

TEST_F(CheckedModel, NamesAFileThatWasChangedAndTheWayToAcceptIt) {
  for (const char* file : {"config.toml", "vocabulary.txt", "segmentation.en.toml"}) {
    const std::string before = read_file(model_ / file);
    replace_file(model_ / file, before + "\n");
    EXPECT_THAT(opening(), AllOf(HasSubstr(file), HasSubstr("was changed or damaged"),
                                 HasSubstr("`residual verify --accept " + model_.string())))
        << file;
    replace_file(model_ / file, before);
  }
  EXPECT_EQ(opening(), "");
}

TEST_F(CheckedModel, NoticesAChangedWeightNowOrLater) {
  flip(model_ / kWeightsFile, fs::file_size(model_ / kWeightsFile) - 5);
  for (const Check check : {Check::now, Check::later}) {
    EXPECT_THAT(opening(check), HasSubstr("model.safetensors: was changed or damaged"));
  }
  EXPECT_EQ(opening(Check::never), "");
}

TEST_F(CheckedModel, TakesAMissingListedFileForMissing) {
  fs::remove(model_ / "segmentation.en.toml");
  EXPECT_THAT(error_of([&] { Directory::open(model_).text_files(); }),
              HasSubstr("segmentation.en.toml: cannot open"));
}

TEST_F(CheckedModel, RefusesAFileThatIsNotListed) {
  fs::copy_file(model_ / "vocabulary.txt", model_ / "other.txt");
  EXPECT_THAT(error_of([&] { Directory::open(model_).read("other.txt"); }),
              HasSubstr("other.txt: is not in checksums.txt"));
}

TEST_F(CheckedModel, WithoutChecksumsIsTakenAsItIs) {
  fs::remove(model_ / kChecksumsFile);
  replace_file(model_ / "config.toml", read_file(model_ / "config.toml") + "\n");
  EXPECT_EQ(opening(), "");
  EXPECT_FALSE(Directory::open(model_).has_checksums());
}

TEST_F(CheckedModel, RefusesChecksumsThatAreDamaged) {
  flip(model_ / kChecksumsFile, 40);
  EXPECT_THAT(opening(), HasSubstr("checksums.txt: is damaged"));
}

TEST_F(CheckedModel, AsABundleIsCheckedByItsHeader) {
  const auto model = Directory::open(model_);
  const fs::path bundle = directory_ / "bundle";
  write_bundle(bundle, model.description(), stored_tensors(model).list, model);
  EXPECT_TRUE(Directory::open(bundle).has_checksums());
  flip(bundle, fs::file_size(bundle) - 5);
  EXPECT_THAT(error_of([&] { Directory::open(bundle); }),
              HasSubstr("does not match the checksum in its header"));
  std::string old = read_file(bundle);
  for (const auto& [from, to] :
       {std::pair("bundle 2", "bundle 1"), {"file_checksum", "unknown_value"}}) {
    old.replace(old.find(from), std::string(from).size(), to);
  }
  replace_file(bundle, old);  // as older versions wrote them
  EXPECT_FALSE(Directory::open(bundle).has_checksums());
}

TEST(BlockCheck, GivesTheChecksumOfItsBytesWithAnyNumberOfThreads) {
  std::string bytes(20 * BlockChecksum::kBlock + 99, 'q');
  for (size_t i = 0; i < bytes.size(); i += 1000) bytes[i] = static_cast<char>(i / 1000);
  const int threads = thread_count();
  for (const int count : {1, 2, 5}) {
    set_thread_count(count);
    BlockCheck waiting(bytes), alone(bytes);
    waiting.start();
    EXPECT_EQ(waiting.value(), BlockChecksum::of(bytes));
    EXPECT_EQ(waiting.value(), alone.value());
    BlockCheck dropped(bytes);  // ends without having been asked
    dropped.start();
  }
  set_thread_count(threads);
}

// Changing the bytes afterwards shows when they were looked at.
TEST(BlockCheck, ChecksBlocksWhenTheyHaveBeenRead) {
  std::string bytes(3 * BlockChecksum::kBlock, 'q');
  const uint64_t expected = BlockChecksum::of(bytes);
  const std::string_view all = bytes;
  constexpr size_t kHalf = BlockChecksum::kBlock / 2;
  BlockCheck check(bytes);
  check.read(all.substr(kHalf, 2 * kHalf));
  check.read(all.substr(0, kHalf));
  check.read("elsewhere");
  bytes.replace(0, 3 * kHalf, 3 * kHalf, 'x');
  EXPECT_NE(check.value(), expected) << "half of the second block was not read";

  bytes.assign(bytes.size(), 'q');
  BlockCheck another(bytes);
  for (size_t i = 0; i < 6; ++i) another.read(all.substr(i * kHalf, kHalf - 1000));
  bytes.assign(bytes.size(), 'x');
  EXPECT_EQ(another.value(), expected);
}

TEST(BlockCheck, IsTheSameWhileOthersRead) {
  std::string bytes(20 * BlockChecksum::kBlock, 'q');
  for (size_t i = 0; i < bytes.size(); i += 1000) bytes[i] = static_cast<char>(i / 1000);
  const TemporaryDirectory directory;
  replace_file(directory / "file", bytes);
  const MappedFile file(directory / "file");  // its pages can be released
  const std::string_view all = file.bytes();
  for (int round = 0; round < 20; ++round) {
    BlockCheck check(all, {.released = all.substr(0, 5 * BlockChecksum::kBlock)});
    check.start();
    std::thread other([&] { check.read(all.substr(7 * BlockChecksum::kBlock)); });
    check.read(all.substr(0, 9 * BlockChecksum::kBlock));
    EXPECT_EQ(check.value(), BlockChecksum::of(bytes));
    other.join();
  }
}

TEST(BlockCheck, CountsAPartAsZerosAcrossBlocks) {
  std::string bytes(2 * BlockChecksum::kBlock, 'q');
  const size_t at = BlockChecksum::kBlock - 8;
  BlockCheck check(bytes, {.zeros = std::string_view(bytes).substr(at, 16)});
  const uint64_t found = check.value();
  bytes.replace(at, 16, std::string(16, '0'));
  EXPECT_EQ(found, BlockChecksum::of(bytes));
}

}  // namespace
}  // namespace residual::model
