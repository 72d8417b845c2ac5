#pragma once

#include <vector>

#include "drawing/graph.h"

namespace residual::drawing {

// Where a node stands: rows count from the bottom, lanes from the left. Lane 0 is the stream of x.
struct Place {
  int row = 0, lane = 0;
};

// A node stands above its operands. A stream stays in its lane: a residual sum stands above what
// it adds the block's output to, and the block beside them.
std::vector<Place> places_of(const Graph& graph);

}  // namespace residual::drawing
