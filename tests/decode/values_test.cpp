#include "decode/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "decode/engine.h"
#include "model/export.h"
#include "support/models.h"
#include "support/temporary.h"
#include "support/words.h"

namespace residual::decode {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

class FileValuesTest : public testing::Test {
 protected:
  FileValuesTest() { test::write_word_model(directory_ / "float32", made_); }

  std::shared_ptr<const model::Directory> open(const std::string& name) const {
    return std::make_shared<model::Directory>(model::Directory::open(directory_ / name));
  }
  // The model with its tensors in another form.
  std::shared_ptr<const model::Directory> exported(
      const std::string& name,
      model::ExportedTensors (*tensors_of)(const model::Directory&)) const {
    const auto model = open("float32");
    model::write_directory(directory_ / name, model->description(), tensors_of(*model).list,
                           directory_ / "float32");
    return open(name);
  }

  test::TemporaryDirectory directory_;
  test::ModelValues made_ = test::random_model(test::small_config());
};

TEST_F(FileValuesTest, AreTheFormThatTheFileHas) {
  const std::string name = model::parameters(made_.config).front().name;
  EXPECT_TRUE(std::holds_alternative<Float32>(file_values(open("float32"))(name)));
  EXPECT_TRUE(std::holds_alternative<Float16>(
      file_values(exported("float16", model::float16_tensors))(name)));
  EXPECT_TRUE(
      std::holds_alternative<Int8>(file_values(exported("int8", model::int8_tensors))(name)));
  const auto packed = exported("packed", model::packed_tensors);
  int panels = 0;
  for (const auto& p : model::parameters(made_.config)) {
    panels += std::holds_alternative<Packed>(file_values(packed)(p.name)) ? 1 : 0;
  }
  EXPECT_GT(panels, 0);
}

TEST_F(FileValuesTest, AreTheNumbersOfTheModel) {
  const auto find = file_values(open("float32"));
  for (const auto& p : model::parameters(made_.config)) {
    const auto values = std::get<Float32>(find(p.name));
    EXPECT_THAT(values.numbers, ElementsAreArray(made_.values.at(p.name))) << p.name;
    EXPECT_NE(values.file, nullptr) << p.name;
  }
}

// The function may be copied, and keeps what it reads from.
TEST_F(FileValuesTest, OutliveTheDirectoryThatTheyWereMadeOf) {
  auto find = file_values(open("float32"));
  const auto copy = find;
  find = nullptr;
  const std::string name = model::parameters(made_.config).back().name;
  EXPECT_THAT(std::get<Float32>(copy(name)).numbers, ElementsAreArray(made_.values.at(name)));
}

TEST_F(FileValuesTest, CanBeReadAgainAfterTheirPagesWereDropped) {
  const std::string name = model::output_embedding(made_.config);
  const auto directory = open("float32");
  const auto values = std::get<Float32>(file_values(directory)(name));
  drop(values.file, std::as_bytes(values.numbers));
  EXPECT_THAT(values.numbers, ElementsAreArray(made_.values.at(name)));
  drop(nullptr, std::as_bytes(values.numbers));  // not a file's: nothing happens
}

TEST_F(FileValuesTest, OfOneRowAreReadAsTheyAreMapped) {
  const std::string name = model::output_embedding(made_.config);
  const auto directory = open("float32");
  const auto values = std::get<Float32>(file_values(directory)(name));
  const int64_t width = made_.config.width;
  for (const int64_t id : {0, 7, 49}) {
    std::vector<float> row(width);
    read_row(values, id, width, row.data());
    EXPECT_THAT(row, ElementsAreArray(values.numbers.subspan(id * width, width)));
  }
}

TEST_F(FileValuesTest, OfInt8NeedOneScalePerRow) {
  const auto model = open("float32");
  auto tensors = model::int8_tensors(*model);
  const std::string name = model::parameters(made_.config).front().name;
  for (auto& tensor : tensors.list) {
    if (tensor.name != name + model::kScale) continue;
    tensor.shape[0] -= 1;
    tensor.bytes.remove_suffix(sizeof(float));
  }
  model::write_directory(directory_ / "short", model->description(), tensors.list,
                         directory_ / "float32");
  EXPECT_THAT([&] { file_values(open("short"))(name); },
              ThrowsMessage<Error>(HasSubstr("one for each row")));
}

TEST_F(FileValuesTest, AreReadRowByRowOnlyWhereTheyAreManyAndInAFile) {
  const auto directory = open("float32");
  const std::vector<float> few(1000), many(4 << 20);
  EXPECT_TRUE(is_read({.numbers = many, .file = &directory->weights()}));
  EXPECT_FALSE(is_read({.numbers = few, .file = &directory->weights()}));
  EXPECT_FALSE(is_read({.numbers = many}));
}

}  // namespace
}  // namespace residual::decode
