#include "drawing/graph.h"

#include <algorithm>
#include <utility>

#include "drawing/recording.h"
#include "schemes/make.h"

namespace residual::drawing {
namespace {

std::string subscript(int n) {
  static constexpr const char* kDigits[] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
  std::string text;
  for (const char digit : std::to_string(n)) text += kDigits[digit - '0'];
  return text;
}

// Attention and feed-forward in turn, as in the paper's figure 1.
class RecordedBlocks final : public schemes::Blocks<Recording> {
 public:
  using schemes::Blocks<Recording>::Blocks;

  Tensor operator()(int k, const Tensor& x) const override {
    const char* what = k % per_layer() == 0 ? " attention" : " feed-forward";
    return Recording::make(Kind::block, "f" + subscript(k + 1) + what, {x});
  }
};

bool has_block(const Graph& graph, const Node& sum) {
  return std::ranges::any_of(
      sum.in, [&](const Edge& edge) { return graph[edge.from].kind == Kind::block; });
}

int uses(const Graph& graph, int node) {
  int count = 0;
  for (const Node& other : graph) {
    count += static_cast<int>(std::ranges::count(other.in, node, &Edge::from));
  }
  return count;
}

// Puts the operands of a sum that only another sum uses into that one; a block's output stays in
// its own.
void merge_sums(Graph& graph) {
  for (size_t i = 0; i < graph.size(); ++i) {
    Node& node = graph[i];
    if (node.kind != Kind::sum) continue;
    const Edge first = node.in[0];
    Node& inner = graph[first.from];
    const bool fits = inner.kind == Kind::sum && first.weight.empty() && !has_block(graph, inner);
    if (!fits || uses(graph, first.from) != 1) continue;
    node.in.erase(node.in.begin());
    node.in.insert(node.in.begin(), inner.in.begin(), inner.in.end());
    inner.in.clear();
  }
}

// Removes nodes that y does not depend on.
Graph without_unused(const Graph& graph) {
  std::vector<bool> is_used(graph.size());
  is_used.back() = true;
  for (size_t i = graph.size(); i-- > 0;) {
    if (!is_used[i]) continue;
    for (const Edge& edge : graph[i].in) is_used[edge.from] = true;
  }
  std::vector<int> place(graph.size());
  Graph kept;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!is_used[i]) continue;
    place[i] = static_cast<int>(kept.size());
    kept.push_back(graph[i]);
    for (Edge& edge : kept.back().in) edge.from = place[edge.from];
  }
  return kept;
}

}  // namespace

Graph graph_of(const schemes::Choice& choice, int layers) {
  const schemes::Stack stack{.layers = layers, .other_layers = layers};
  Recording arithmetic;
  const auto scheme = schemes::make(arithmetic, stack, choice);
  const auto graph = std::make_shared<Graph>(Graph{{.kind = Kind::input, .label = "x"}});
  const Tensor y =
      scheme->forward({graph, 0}, RecordedBlocks(stack.blocks(), stack.blocks_per_layer));
  Recording::make(Kind::output, "y", {y});
  merge_sums(*graph);
  return without_unused(*graph);
}

}  // namespace residual::drawing
