#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schemes/choice.h"

namespace residual::drawing {

enum class Kind { input, block, norm, sum, mix, output };

struct Edge {
  int from;                 // index of a node
  std::string weight = {};  // "0.5", "w" where it is learnt; empty: 1
};

// One step of a forward pass. Its operands precede it.
struct Node {
  Kind kind = Kind::input;
  std::string label;
  std::vector<Edge> in = {};
};

using Graph = std::vector<Node>;

// What a stack of the scheme computes, from x to y: recorded while its forward() runs. Sums of sums
// are one sum; factors are weights of edges.
Graph graph_of(const schemes::Choice& choice, int layers);

}  // namespace residual::drawing
