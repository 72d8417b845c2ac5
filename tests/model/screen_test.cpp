#include "model/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/export.h"
#include "support/model_files.h"
#include "support/temporary.h"

namespace residual::model {
namespace {

using ::residual::test::TemporaryDirectory;
using testing::HasSubstr;

// Of the smallest vocabulary whose screen has a megabyte, and so many symbols more.
Config config_of(int64_t width, int64_t more = 0) {
  Config config = test::small_config();
  config.width = width;
  config.source_vocabulary = config.target_vocabulary = (1 << 19) / width + more;
  return config;
}

// A model as it was written and opened again.
class Written {
 public:
  explicit Written(const Config& config, std::vector<float> last_row = {}) {
    const Description description = test::small_description(directory_ / "text", config);
    test::Weights weights(config);
    const std::string name = output_embedding(config);
    for (auto& tensor : weights.tensors()) {
      if (tensor.name != name) continue;
      rows_ = tensor.bytes;
      const std::string_view row(reinterpret_cast<const char*>(last_row.data()),
                                 4 * last_row.size());
      rows_.replace(rows_.size() - row.size(), row.size(), row);
      tensor.bytes = rows_;
    }
    write_directory(directory_ / "m", description, weights.tensors(), directory_ / "text");
  }

  Directory open() const { return Directory::open(directory_ / "m"); }
  const std::string& rows() const { return rows_; }

 private:
  TemporaryDirectory directory_;
  std::string rows_;
};

// With a vocabulary whose scales do not end at a cache line: panels that do not begin at one would
// be made again by whoever translates.
TEST(Screen, IsWrittenBesideItsRowsWhereDecodingReadsIt) {
  const Config config = config_of(128, 1);
  const Written written(config);
  const Directory model = written.open();
  const std::string name = output_embedding(config);
  const TensorView& panels = model.weights().at(name + kPanels);
  EXPECT_EQ(panels.dtype, Dtype::i16);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(panels.bytes.data()) % kernels::kCacheLine, 0u);
  EXPECT_EQ(model.parameter(name).bytes, written.rows());
  EXPECT_EQ(screen_difference(model.weights(), config), "");
  // Other forms are made of the rows; packed panels go to cache lines as well.
  EXPECT_NO_THROW(float16_tensors(model));
  const TemporaryDirectory packed;
  write_bundle(packed / "m", model.description(), packed_tensors(model).list, model);
  const Directory bundle = Directory::open(packed / "m");
  EXPECT_EQ(bundle.weights().at(name + kPanels).bytes, panels.bytes);
  for (const auto& [other, tensor] : bundle.weights().tensors()) {
    if (!other.ends_with(kPanels)) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % kernels::kCacheLine, 0u) << other;
  }
}

TEST(Screen, IsNotWrittenWhereItCannotBeUsed) {
  const auto has_screen = [](const Written& written, const Config& config) {
    return written.open().weights().contains(output_embedding(config) + kPanels);
  };
  const Config config = config_of(128);
  EXPECT_TRUE(has_screen(Written(config), config));
  EXPECT_FALSE(has_screen(Written(config, {NAN}), config));
  EXPECT_FALSE(has_screen(Written(config_of(128, -64)), config_of(128, -64)));
  EXPECT_FALSE(has_screen(Written(config_of(136, 64)), config_of(136, 64)));
  const Written written(config);
  const Directory model = written.open();
  const TemporaryDirectory half;
  write_bundle(half / "m", model.description(), float16_tensors(model).list, model);
  const Directory halved = Directory::open(half / "m");
  EXPECT_FALSE(halved.weights().contains(output_embedding(config) + kPanels));
}

TEST(Screen, IsToldFromThatOfOtherRows) {
  const Config config = config_of(128);
  const Written one(config), other(config, {0.5F});
  const Directory with_rows = one.open(), with_screen = other.open();
  const std::string name = output_embedding(config);
  ExportedTensors mixed = stored_tensors(with_rows);
  for (auto& tensor : mixed.list) {
    if (tensor.name.starts_with(name + ".")) {
      tensor.bytes = with_screen.weights().at(tensor.name).bytes;
    }
  }
  const TemporaryDirectory directory;
  write_bundle(directory / "m", with_rows.description(), mixed.list, with_rows);
  EXPECT_THAT(screen_difference(Directory::open(directory / "m").weights(), config),
              HasSubstr("embedding.weight.panels does not match embedding.weight"));
}

}  // namespace
}  // namespace residual::model
