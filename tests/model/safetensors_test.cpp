#include "model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "support/temporary.h"

namespace residual::model {
namespace {

using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string refusal(const std::string& bytes) {
  try {
    SafeTensors::parse(bytes, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(SafeTensors, GivesBackWhatWasWritten) {
  const test::TemporaryDirectory directory;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> b = {-1, 7};
  const std::vector<int8_t> c = {1, -2, 3};
  write_safetensors(directory / "m",
                    {{"c", Dtype::i8, {3}, bytes_of(c)},
                     {"a", Dtype::f32, {2, 3}, bytes_of(a)},
                     {"b", Dtype::i64, {2}, bytes_of(b)},
                     {"none", Dtype::f32, {0, 5}, {}},
                     {"scalar", Dtype::f32, {}, bytes_of(a).substr(0, 4)}},
                    {{"scheme", "resi-dual"}});
  const SafeTensors file = SafeTensors::open(directory / "m");
  EXPECT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(file.metadata().at("scheme"), "resi-dual");
  EXPECT_EQ(file.at("a").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_THAT(file.at("a").values<float>(), testing::ElementsAreArray(a));
  EXPECT_THAT(file.at("b").values<int64_t>(), testing::ElementsAreArray(b));
  EXPECT_THAT(file.at("c").values<int8_t>(), testing::ElementsAreArray(c));
  EXPECT_EQ(file.at("none").size(), 0);
  EXPECT_EQ(file.at("scalar").size(), 1);
  EXPECT_THROW(file.at("c").values<float>(), Error);
  try {
    file.at("scala");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no tensor \"scala\"; did you mean \"scalar\"?"));
  }
}

TEST(SafeTensors, WidensHalvesExactly) {
  const std::vector<uint16_t> half = {0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00, 0x8000, 0x0400};
  const std::string header =
      R"({"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[14,16]}})";
  const std::string bytes =
      file_of(header, std::string(bytes_of(half)) + std::string("\xC0\x3F", 2));
  const SafeTensors file = SafeTensors::parse(bytes, "f");
  const auto h = file.at("h").to_float();
  EXPECT_EQ(h, (std::vector<float>{1, -2, 0x1p-24f, 65504, INFINITY, -0.0f, 0x1p-14f}));
  EXPECT_EQ(file.at("b").to_float()[0], 1.5f);
}

TEST(SafeTensors, RefusesWhatIsNotExactlyRightAndSaysWhy) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string data(8, 'x');
  ASSERT_EQ(refusal(file_of(good, data)), "accepted");
  EXPECT_EQ(refusal(file_of("{}", "")), "accepted");

  EXPECT_THAT(refusal(""), HasSubstr("too few"));
  EXPECT_THAT(refusal(file_of(good, data).substr(0, 20)), HasSubstr("the file ends after 12"));
  EXPECT_THAT(refusal(std::string(8, '\xff')), HasSubstr("exceeds the format's"));
  EXPECT_THAT(refusal(file_of(good, data.substr(1))), HasSubstr("bytes 0 to 8 are not within"));
  EXPECT_THAT(refusal(file_of(good, data + "y")), HasSubstr("1 bytes after the last tensor"));
  const auto entry = [&](const std::string& text) {
    return refusal(file_of("{\"a\":" + text + "}", data));
  };
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("needs 12 bytes"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
              HasSubstr("whole number, got -2"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
              HasSubstr("whole number"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"),
              HasSubstr("shape is not a list"));
  EXPECT_THAT(entry(R"({"dtype":"X9","shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("unknown dtype"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("not within"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
              HasSubstr("not two numbers"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
              HasSubstr("nothing else"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8]})"),
              HasSubstr("too large"));
  EXPECT_THAT(entry("[[[[[]]]]]"), HasSubstr("nests deeper"));
  EXPECT_THAT(refusal(file_of("[]", "")), HasSubstr("does not start with"));
  EXPECT_THAT(refusal(file_of("{\"a\":", "")), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(file_of(R"({"__metadata__":{"a":1}})", "")),
              HasSubstr("metadata \"a\" is not a string"));
  const std::string twice = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_THAT(refusal(file_of("{" + twice + "," + twice + "}", "1234")),
              HasSubstr("\"a\" appears twice"));
}

TEST(SafeTensors, RefusesOverlapsAndHoles) {
  const auto two = [](int begin, int end, int size) {
    return refusal(file_of(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[)" +
            std::to_string(end - begin) + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
            std::to_string(end) + "]}}",
        std::string(static_cast<size_t>(size), 'x')));
  };
  EXPECT_EQ(two(4, 8, 8), "accepted");
  EXPECT_THAT(two(3, 8, 8), HasSubstr("\"b\" overlaps another"));
  EXPECT_THAT(two(5, 8, 8), HasSubstr("\"b\" leaves a hole before it"));
}

TEST(SafeTensors, SaysWhatIsWrongWithAnEntryOfAnyType) {
  const auto header = [](const std::string& text) { return refusal(file_of(text, "")); };
  for (const char* entry : {"1", "-1", "1.5", "true", "null", "\"x\"", "[]", "[1]", "{}"}) {
    EXPECT_THAT(header(std::string("{\"a\":") + entry + "}"), HasSubstr("must have dtype, shape"))
        << entry;
  }
  for (const char* value : {"1", "-1", "1.5", "true", "null", "[]", "{}"}) {
    EXPECT_THAT(header(std::string(R"({"a":{"dtype":)") + value + "}}"),
                HasSubstr("dtype is not a string"))
        << value;
    EXPECT_THAT(header(std::string(R"({"__metadata__":{"k":)") + value + "}}"),
                HasSubstr("metadata \"k\" is not a string"))
        << value;
  }
  EXPECT_THAT(header(R"({"a":{"shape":"x"}})"), HasSubstr("shape is not a list"));
  EXPECT_THAT(header(R"({"a":{"shape":["x"]}})"), HasSubstr("whole number, got \"x\""));
  EXPECT_THAT(header(R"({"a":{"shape":[{}]}})"), HasSubstr("nests deeper"));
  EXPECT_THAT(header(R"({"a":{"data_offsets":{}}})"), HasSubstr("data_offsets are not two"));
  EXPECT_THAT(header(R"({"a":{"shape":[],"shape":[]}})"), HasSubstr("\"shape\" appears twice"));
  for (const char* value : {"1", "[]", "[\"x\"]", "null"}) {
    EXPECT_THAT(header(std::string(R"({"__metadata__":)") + value + "}"),
                HasSubstr("__metadata__ is not an object"))
        << value;
  }
  EXPECT_THAT(header(R"({"__metadata__":{"k":"1","k":"2"}})"), HasSubstr("\"k\" appears twice"));
  EXPECT_THAT(header(R"({"__metadata__":{},"__metadata__":{}})"),
              HasSubstr("\"__metadata__\" appears twice"));
  EXPECT_EQ(header(R"({"__metadata__":{"dtype":"x"}} )"), "accepted");
}

TEST(SafeTensors, TakesTimeByTheSizeOfItsHeader) {
  std::string header = "{";
  for (int i = 0; i < 50'000; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(file_of(header + "}", "")), "accepted");
  std::string shape = R"({"a":{"shape":[0)";
  for (int i = 0; i < 10'000'000; ++i) shape += ",0";
  EXPECT_THAT(refusal(file_of(shape, "")), HasSubstr("shape has too many numbers"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// Random damage of a good file either is refused or leaves every tensor within the file.
TEST(SafeTensors, SurvivesRandomDamage) {
  const test::TemporaryDirectory directory;
  const std::vector<float> a(32, 1.0f);
  write_safetensors(directory / "m",
                    {{"a", Dtype::f32, {4, 8}, bytes_of(a)}, {"b", Dtype::f32, {32}, bytes_of(a)}},
                    {{"k", "v"}});
  const std::string good = read_file(directory / "m");
  const Random random(11);
  for (uint64_t round = 0; round < 20000; ++round) {
    std::string bytes = good;
    const uint64_t flips = 1 + random.below(4 * round, 4);
    for (uint64_t flip = 0; flip < flips; ++flip) {
      const Random here(round, flip);
      bytes[here.below(0, bytes.size())] = static_cast<char>(here.below(1, 256));
    }
    if (random.below(4 * round + 1, 8) == 0)
      bytes.resize(random.below(4 * round + 2, bytes.size()));
    try {
      const SafeTensors file = SafeTensors::parse(bytes, "f");
      for (const auto& [name, tensor] : file.tensors()) {
        ASSERT_GE(tensor.bytes.data(), bytes.data());
        ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size());
      }
    } catch (const Error&) {
    }
  }
}

TEST(WriteSafeTensors, RefusesWhatItCouldNotReadBack) {
  const test::TemporaryDirectory directory;
  const std::vector<float> a = {1, 2};
  EXPECT_THROW(write_safetensors(directory / "m", {{"a", Dtype::f32, {3}, bytes_of(a)}}, {}),
               Error);
  EXPECT_THROW(write_safetensors(
                   directory / "m",
                   {{"a", Dtype::f32, {2}, bytes_of(a)}, {"a", Dtype::f32, {2}, bytes_of(a)}}, {}),
               Error);
  EXPECT_FALSE(fs::exists(directory / "m"));
}

}  // namespace
}  // namespace residual::model
