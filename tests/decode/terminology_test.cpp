#include "decode/terminology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Terminology, FindsWholeWordsTheLongestFirst) {
  const Terminology terms({{"new york", "Neu-York"},
                           {"new york city", "Stadt New York"},
                           {"bank", "Ufer"},
                           {"US", "USA"},
                           {".net", "Dotnet"},
                           {"été", "Sommer"},
                           {"\u4e2d\u56fd", "China"}});
  EXPECT_THAT(terms.in("He saw New York City, then new york."),
              ElementsAre("Stadt New York", "Neu-York"));
  EXPECT_THAT(terms.in("banks, embankment, bank1, us, bank\u0301, new york\u093c"), IsEmpty());
  EXPECT_THAT(terms.in("\"Bank\"-bank"), ElementsAre("Ufer"));
  EXPECT_THAT(terms.in("the US uses .NET"), ElementsAre("USA", "Dotnet"));
  EXPECT_THAT(terms.in("\u00c9T\u00c9"), ElementsAre("Sommer"));
  EXPECT_THAT(terms.in("\u5728\u4e2d\u56fd\u7684"), ElementsAre("China"));
  EXPECT_THAT(terms.in(""), IsEmpty());
  EXPECT_THAT(Terminology().in("bank"), IsEmpty());
  EXPECT_THAT(Terminology({{"us", "uns"}, {"US", "USA"}, {"us", "uns"}}).in("US us Us"),
              ElementsAre("USA", "uns"));
}

TEST(Terminology, IsReadFromLinesWithATab) {
  const test::TemporaryDirectory directory;
  const auto read = [&](const std::string& lines) -> std::string {
    replace_file(directory / "terms.tsv", lines);
    try {
      const auto found = Terminology::read(directory / "terms.tsv").in("a house and a tree");
      return std::accumulate(found.begin(), found.end(), std::string());
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(read("\xEF\xBB\xBFtree\tBaum\r\n\nhouse \t Haus\n"), "HausBaum");
  EXPECT_THAT(read("house\tHaus\ntree Baum\n"), HasSubstr("terms.tsv:2: expected"));
  EXPECT_THAT(read("house\t\n"), HasSubstr("terms.tsv:1: expected"));
  EXPECT_THAT(read("house\tHaus\tHeim\n"), HasSubstr("terms.tsv:1: expected"));
  EXPECT_THAT(read("\n"), HasSubstr("has no term"));
  EXPECT_EQ(read("house\tHaus\ntree\tBaum\nhouse \tHaus\n"), "HausBaum");
  EXPECT_THAT(read("\nhouse\tHaus\nHouse\tHeim\nhouse\tHeim\n"),
              AllOf(HasSubstr("terms.tsv:4: \"house\" is called \"Heim\", but \"Haus\" at "),
                    HasSubstr("terms.tsv:2; leave one of them out")));
  EXPECT_THROW(Terminology(std::vector<Term>{{"US", "USA"}, {"US", "uns"}}), Error);
  EXPECT_THROW(Terminology(std::vector<Term>{{"house", " "}}), Error);
  EXPECT_THROW(Terminology(std::vector<Term>{{std::string(201, 'a'), "b"}}), Error);
}

}  // namespace
}  // namespace residual::decode
