#include "drawing/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "drawing/graph.h"
#include "drawing/layout.h"
#include "schemes/registry.h"
#include "support/paths.h"

namespace residual::drawing {
namespace {

using testing::HasSubstr;

int count(const Graph& graph, Kind kind) {
  return static_cast<int>(std::ranges::count(graph, kind, &Node::kind));
}

// The operands of a node by their kinds.
std::multiset<Kind> operands(const Graph& graph, const Node& node) {
  std::multiset<Kind> kinds;
  for (const Edge& edge : node.in) kinds.insert(graph[edge.from].kind);
  return kinds;
}

TEST(Graph, OfPostLnNormalisesEachSum) {
  const Graph graph = graph_of({.name = "post-ln"}, 1);
  EXPECT_EQ(count(graph, Kind::block), 2);
  for (const Node& node : graph) {
    if (node.kind == Kind::norm) {
      EXPECT_EQ(operands(graph, node), std::multiset{Kind::sum});
    }
    if (node.kind == Kind::sum) {
      EXPECT_EQ(operands(graph, node).count(Kind::block), 1U);
    }
  }
}

TEST(Graph, OfPreLnNormalisesWhatBlocksSee) {
  for (const Node& node : graph_of({.name = "pre-ln"}, 2)) {
    if (node.kind != Kind::block) continue;
    EXPECT_EQ(graph_of({.name = "pre-ln"}, 2)[node.in[0].from].kind, Kind::norm);
  }
}

// Section 2.2: what a block gives joins both streams, and y is the sum of their ends.
TEST(Graph, OfResiDualHasTwoStreams) {
  const Graph graph = graph_of({.name = "resi-dual"}, 2);
  for (size_t i = 0; i < graph.size(); ++i) {
    if (graph[i].kind != Kind::block) continue;
    const auto uses = std::ranges::count_if(graph, [&](const Node& node) {
      return std::ranges::count(node.in, static_cast<int>(i), &Edge::from) > 0;
    });
    EXPECT_EQ(uses, 2);
  }
  const Node& top = graph[graph.back().in[0].from];
  EXPECT_EQ(operands(graph, top), (std::multiset{Kind::norm, Kind::norm}));
}

class EveryScheme : public testing::TestWithParam<std::string> {};

TEST_P(EveryScheme, HasAllItsBlocksBetweenXAndY) {
  const Graph graph = graph_of({.name = GetParam()}, 2);
  EXPECT_EQ(count(graph, Kind::input), 1);
  EXPECT_EQ(count(graph, Kind::block), 4);
  EXPECT_EQ(graph.back().kind, Kind::output);
}

TEST_P(EveryScheme, PutsEachNodeInAPlaceOfItsOwnAboveItsOperands) {
  const Graph graph = graph_of({.name = GetParam()}, 3);
  const auto places = places_of(graph);
  std::set<std::pair<int, int>> taken;
  for (size_t i = 0; i < graph.size(); ++i) {
    EXPECT_TRUE(taken.emplace(places[i].row, places[i].lane).second);
    for (const Edge& edge : graph[i].in) {
      EXPECT_LT(places[edge.from].row, places[i].row);
    }
  }
}

// for name in ...: residual schemes --draw NAME > docs/figures/schemes/NAME.svg
TEST_P(EveryScheme, LooksAsInTheDocumentation) {
  const fs::path file =
      fs::path(test::source_tree()) / "docs/figures/schemes" / (GetParam() + ".svg");
  ASSERT_TRUE(fs::exists(file));
  EXPECT_EQ(read_file(file), draw({.name = GetParam()}))
      << "run: residual schemes --draw " << GetParam() << " > docs/figures/schemes/" << GetParam()
      << ".svg";
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& entry : schemes::registry()) names.push_back(entry.name);
  return names;
}
std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Schemes, EveryScheme, testing::ValuesIn(all_names()), test_name);

TEST(Draw, ShowsTheEquations) {
  EXPECT_THAT(draw({.name = "resi-dual"}), HasSubstr("y = x + LN(d)"));
  EXPECT_THAT(draw({.name = "dlcl", .variant = "pre"}), HasSubstr("dlcl (pre), 2 layers"));
}

}  // namespace
}  // namespace residual::drawing
