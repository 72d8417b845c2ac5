#pragma once

#include <cstdint>
#include <vector>

namespace residual::decode {

// The partial translations of all live sentences. Hypotheses that share their first tokens share
// those nodes; a node is freed when no hypothesis ends in it or goes through it any more. Its
// number is also its slot in the decoders' caches of keys and values.
class HypothesisTree {
 public:
  static constexpr int32_t kNone = -1;

  struct Node {
    int32_t parent = kNone;
    int32_t holders = 0;  // hypotheses that end here, and children
    int32_t token = 0;
    float log_probability = 0;  // of the token after its parents
    double score = 0;           // sum of log-probabilities from the root
  };

  // A node that the caller holds. parent: kNone for a root.
  int32_t add(int32_t parent, int32_t token, float log_probability) {
    if (free_.empty()) {
      free_.push_back(static_cast<int32_t>(nodes_.size()));
      nodes_.emplace_back();
    }
    const int32_t made = free_.back();
    free_.pop_back();
    double score = log_probability;
    if (parent != kNone) {
      score += nodes_[parent].score;
      ++nodes_[parent].holders;
    }
    nodes_[made] = {parent, 1, token, log_probability, score};
    return made;
  }

  void release(int32_t node) {
    while (node != kNone && --nodes_[node].holders == 0) {
      free_.push_back(node);
      node = nodes_[node].parent;
    }
  }

  // Begins anew, with room for as many nodes as an ordinary search has. REQUIRES: nobody holds one.
  void clear() {
    constexpr size_t kOrdinary = 1 << 20;
    if (nodes_.size() > kOrdinary) {
      nodes_ = std::vector<Node>();
      free_ = std::vector<int32_t>();
    }
    nodes_.clear();
    free_.clear();
  }

  const Node& operator[](int32_t node) const { return nodes_[node]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }  // all nodes are less

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> free_;
};

}  // namespace residual::decode
