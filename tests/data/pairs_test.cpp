#include "data/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"
#include "support/temporary.h"

namespace residual::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Pairs : public testing::Test {
 protected:
  PairFiles pair(const std::string& name, const std::string& source, const std::string& target) {
    replace_file(directory_ / (name + ".en"), source);
    replace_file(directory_ / (name + ".de"), target);
    return find_pair_files(directory_ / name, "en", "de", {1, 2});
  }
  PairFiles tsv(const std::string& text, const std::vector<int64_t>& columns) {
    replace_file(directory_ / "text.tsv", text);
    return find_pair_files(directory_ / "text.tsv", "en", "de", columns);
  }
  static std::vector<std::string> read(std::vector<PairFiles> inputs) {
    std::vector<std::string> out;
    PairReader reader(std::move(inputs), text::Invalid::refuse);
    while (const auto block = reader.next()) {
      for (size_t i = 0; i < block->numbers.size(); ++i) {
        out.push_back(
            fmt::format("{}:{}={}", block->numbers[i], block->source[i], block->target[i]));
      }
    }
    return out;
  }
  static std::string error_of(std::vector<PairFiles> inputs) {
    return residual::test::error_of([&] { read(std::move(inputs)); });
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Pairs, AreNumberedThroughAllInputs) {
  EXPECT_THAT(read({pair("a", "1\n2\n", "eins\nzwei"), pair("b", "", ""), pair("c", "3\n", "\n")}),
              ElementsAre("1:1=eins", "2:2=zwei", "3:3="));
}

TEST_F(Pairs, OfDifferentLengthsNameBothFilesAndCounts) {
  const std::string error = error_of({pair("a", "1\n2\n", "1\n2\n3\n4\n")});
  EXPECT_THAT(error, HasSubstr("a.en has 2 lines but "));
  EXPECT_THAT(error, HasSubstr("a.de has 4;"));
  EXPECT_THAT(error_of({pair("a", "1\n2\n3", "")}), HasSubstr("a.en has 3 lines but "));
}

TEST_F(Pairs, ComeFromAnyTwoColumns) {
  EXPECT_THAT(read({tsv("a\tb\tc\nd\te\tf\n", {3, 1})}), ElementsAre("1:c=a", "2:f=d"));
  EXPECT_THAT(error_of({tsv("a\tb\tc\nd\te\n", {1, 3})}),
              HasSubstr("text.tsv:2: expected at least 3 tab-separated columns, got 2"));
}

TEST_F(Pairs, InvalidUtf8NamesFileAndLine) {
  EXPECT_THAT(error_of({pair("a", "1\n2\n", "1\n\xff\n")}), HasSubstr("a.de:2: byte 1"));
}

TEST_F(Pairs, LinesMayBeLongAndMany) {
  const std::string line(3'000'000, 'x');
  EXPECT_THAT(read({pair("a", line + "\n1\n", "2\n" + line)}),
              ElementsAre("1:" + line + "=2", "2:1=" + line));
  std::string many;
  for (int i = 1; i <= 300'000; ++i) many += fmt::format("{}\n", i);
  EXPECT_EQ(read({pair("b", many, many)}).back(), "300000:300000=300000");
}

TEST_F(Pairs, AMissingFileIsNamed) {
  replace_file(directory_ / "a.en", "");
  try {
    find_pair_files(directory_ / "a", "en", "de", {1, 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.de: does not exist"));
  }
}

}  // namespace
}  // namespace residual::data
