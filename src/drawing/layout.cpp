#include "drawing/layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace residual::drawing {
namespace {

constexpr int kNone = -1;

// Whether `node` depends on `below` by way of a block.
bool passes_block(const Graph& graph, int node, int below) {
  std::vector<bool> depends(graph.size()), passes(graph.size());
  depends[below] = true;
  for (int i = below + 1; i <= node; ++i) {
    for (const Edge& edge : graph[i].in) {
      depends[i] = depends[i] || depends[edge.from];
      passes[i] = passes[i] || passes[edge.from];
    }
    passes[i] = passes[i] || (depends[i] && graph[i].kind == Kind::block);
  }
  return passes[node];
}

// Whether a node adds to its first operand what a block made of it.
bool is_residual(const Graph& graph, const Node& node) {
  return node.kind == Kind::sum &&
         std::any_of(node.in.begin() + 1, node.in.end(), [&](const Edge& edge) {
           return passes_block(graph, edge.from, node.in[0].from);
         });
}

// Whether a node adds a block's output to its first operand, which may be of another stream.
bool takes_block(const Graph& graph, const Node& node) {
  return node.kind == Kind::sum &&
         std::any_of(node.in.begin() + 1, node.in.end(),
                     [&](const Edge& edge) { return graph[edge.from].kind == Kind::block; });
}

// Chains: for each node the one below it in its lane.
class Chains {
 public:
  explicit Chains(const Graph& graph)
      : graph_(graph), below_(graph.size(), kNone), above_(graph.size(), kNone) {
    for_each([&](int i, const Node& node) {
      if (is_residual(graph_, node)) join(i, node.in[0].from);
    });
    join_mixtures();
    for_each([&](int i, const Node& node) {
      if (below_[i] == kNone && takes_block(graph_, node)) join(i, node.in[0].from);
    });
    for_each([&](int i, const Node& node) {
      const bool is_sum = node.kind == Kind::sum && !takes_block(graph_, node);
      if (below_[i] == kNone && (is_sum || node.kind == Kind::mix))
        join(i, node.in.back().from) || join(i, node.in[0].from);
    });
    for_each([&](int i, const Node& node) {
      const bool is_other = node.kind != Kind::sum && node.kind != Kind::input;
      if (below_[i] == kNone && is_other) join(i, node.in[0].from);
    });
  }

  int below(int node) const { return below_[node]; }

 private:
  template <class Use>
  void for_each(Use use) {
    for (size_t i = 0; i < graph_.size(); ++i) use(static_cast<int>(i), graph_[i]);
  }

  bool join(int node, int below) {
    if (above_[below] != kNone) return false;
    above_[below] = node;
    below_[node] = below;
    return true;
  }

  // Several mixtures of the same streams: the last are the streams that go on, one for one.
  void join_mixtures() {
    std::map<std::vector<int>, std::vector<int>> groups;
    for_each([&](int i, const Node& node) {
      if (node.kind != Kind::mix) return;
      std::vector<int> streams;
      for (const Edge& edge : node.in) streams.push_back(edge.from);
      groups[streams].push_back(i);
    });
    for (const auto& [streams, mixtures] : groups) {
      if (mixtures.size() < streams.size()) continue;
      const size_t before = mixtures.size() - streams.size();
      for (size_t s = 0; s < streams.size(); ++s) join(mixtures[before + s], streams[s]);
    }
  }

  const Graph& graph_;
  std::vector<int> below_, above_;
};

struct Chain {
  std::vector<int> nodes;
  bool has_block = false;
  int from = 0, to = 0;  // rows
};

std::vector<Chain> chains_of(const Graph& graph, const std::vector<Place>& places) {
  const Chains links(graph);
  std::vector<Chain> chains;
  std::vector<size_t> chain_of(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const int below = links.below(static_cast<int>(i));
    chain_of[i] = below == kNone ? chains.size() : chain_of[below];
    if (below == kNone) chains.push_back({.from = places[i].row - 1});
    Chain& chain = chains[chain_of[i]];
    chain.nodes.push_back(static_cast<int>(i));
    chain.has_block = chain.has_block || graph[i].kind == Kind::block;
  }
  for (size_t i = 0; i < graph.size(); ++i) {  // until what its nodes are used by
    for (const Edge& edge : graph[i].in) {
      Chain& chain = chains[chain_of[edge.from]];
      chain.to = std::max(chain.to, places[i].row);
    }
  }
  return chains;
}

}  // namespace

std::vector<Place> places_of(const Graph& graph) {
  std::vector<Place> places(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    for (const Edge& edge : graph[i].in)
      places[i].row = std::max(places[i].row, places[edge.from].row + 1);
  }
  std::vector<Chain> chains = chains_of(graph, places);
  // Beside the stream of x stand the blocks, then short chains, then long ones.
  std::stable_sort(chains.begin() + 1, chains.end(), [](const Chain& a, const Chain& b) {
    return std::tuple(!a.has_block, a.to - a.from) < std::tuple(!b.has_block, b.to - b.from);
  });
  std::vector<std::vector<const Chain*>> lanes;
  for (size_t c = 0; c < chains.size(); ++c) {
    const Chain& chain = chains[c];
    const auto is_free = [&](const std::vector<const Chain*>& lane) {
      return std::ranges::all_of(lane, [&](const Chain* other) {
        return chain.to <= other->from || other->to <= chain.from;
      });
    };
    const size_t first = c == 0 ? 0 : 1;  // lane 0 is that of x
    size_t lane = std::min(first, lanes.size());
    while (lane < lanes.size() && !is_free(lanes[lane])) ++lane;
    if (lane == lanes.size()) lanes.emplace_back();
    lanes[lane].push_back(&chain);
    for (const int node : chain.nodes) places[node].lane = static_cast<int>(lane);
  }
  return places;
}

}  // namespace residual::drawing
