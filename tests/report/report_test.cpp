#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "support/temporary.h"

namespace residual::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Figure example() {
  return {.id = "example",
          .section = "One",
          .title = "a < b & \"c\"",
          .x_label = "block k",
          .y_label = "norm",
          .log_y = true,
          .series = {{.name = "first", .x = {1, 2, 3}, .y = {1, 10, 100}},
                     {.name = "second, dashed", .x = {2, 4}, .y = {0.5, kNone}, .dashed = true}}};
}

TEST(Report, PutsSeriesSideBySideByTheirX) {
  EXPECT_EQ(to_csv(example()), "block k,first,\"second, dashed\"\n1,1,\n2,10,0.5\n3,100,\n4,,\n");
}

TEST(Report, WritesMatricesRowByRow) {
  Figure figure{.id = "m", .matrix = {{1, 0.25}, {0.25, 1}}};
  EXPECT_EQ(to_csv(figure), "1,0.25\n0.25,1\n");
  EXPECT_THAT(to_svg(figure), HasSubstr("fill-opacity=\"0.250\""));
}

TEST(Report, LabelledMatricesShowTheirValues) {
  Figure figure{.id = "m",
                .x_label = "perplexity",
                .matrix = {{20, 80}, {kNone, 40}},
                .row_labels = {"warm, up", "none"},
                .column_labels = {"E6D6", "E12D12"}};
  EXPECT_EQ(to_csv(figure), ",E6D6,E12D12\n\"warm, up\",20,80\nnone,,40\n");
  const std::string svg = to_svg(figure);
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.600\""));  // the lowest
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.300\""));  // half-way by the logarithm
  EXPECT_THAT(svg, HasSubstr(">80</text>"));
  EXPECT_THAT(svg, HasSubstr(">–</text>"));
  figure.matrix = {{kNone, kNone}, {kNone, kNone}};
  EXPECT_THAT(to_svg(figure), Not(HasSubstr("nan")));
  const auto json = nlohmann::json::parse(to_json({.title = "t", .figures = {figure}}));
  EXPECT_EQ(json["figures"][0]["row_labels"][0], "warm, up");
}

TEST(Report, JsonHasNullWhereThereIsNoValue) {
  const auto json = nlohmann::json::parse(
      to_json({.title = "t", .facts = {{"seed", "1"}}, .figures = {example()}}));
  const auto& figure = json["figures"][0];
  EXPECT_EQ(json["facts"]["seed"], "1");
  EXPECT_EQ(figure["series"][1]["name"], "second, dashed");
  EXPECT_EQ(figure["rows"][1], nlohmann::json({2.0, 10.0, 0.5}));
  EXPECT_TRUE(figure["rows"][3][2].is_null());
}

TEST(Report, SvgBreaksALineWhereThereIsNoValueAndEscapesText) {
  const std::string svg = to_svg(example());
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; "));
  EXPECT_THAT(svg, HasSubstr("line dashed"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

// A logarithmic axis has no place for 0; a constant line still has a scale.
TEST(Report, SvgSurvivesZerosConstantsAndNoDataAtAll) {
  for (const auto& y : {std::vector<double>{0, 0, 0}, {5, 5, 5}, {kNone, kNone, kNone}}) {
    for (const bool log_y : {false, true}) {
      const std::string svg =
          to_svg({.id = "x", .log_y = log_y, .series = {{.name = "s", .x = {1, 2, 3}, .y = y}}});
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
    }
  }
}

TEST(Report, PageStandsAlone) {
  Report report{.title = "</script><b>", .facts = {}, .figures = {example()}};
  report.figures[0].note = "</script><script>alert(1)</script>";
  const std::string page = to_html(report);
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, Not(HasSubstr("</script><")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
}

TEST(Report, WritesTheFormatsThatAreAskedFor) {
  const test::TemporaryDirectory directory;
  write_report({.title = "t", .facts = {}, .figures = {example()}}, {Format::csv, Format::json},
               directory / "new");
  EXPECT_TRUE(fs::exists(directory / "new/example.csv"));
  EXPECT_TRUE(fs::exists(directory / "new/report.json"));
  EXPECT_FALSE(fs::exists(directory / "new/example.svg"));
  EXPECT_FALSE(fs::exists(directory / "new/report.html"));
}

}  // namespace
}  // namespace residual::report
