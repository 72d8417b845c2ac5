#include "drawing/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "drawing/graph.h"
#include "drawing/layout.h"
#include "report/svg.h"
#include "schemes/registry.h"

namespace residual::drawing {
namespace {

using report::escaped;

constexpr double kLane = 132, kRow = 44, kTrack = 15, kSide = 70, kBottom = 34, kLine = 19;
constexpr double kTop = 46;
constexpr int kColours = 8;

// Drawn nodes are boxes of this size; sums are circles.
struct Size {
  double width, height;
};
Size size_of(Kind kind) {
  switch (kind) {
    case Kind::block:
      return {114, 26};
    case Kind::norm:
      return {44, 22};
    case Kind::mix:
      return {86, 22};
    case Kind::sum:
      return {18, 18};
    default:
      return {22, 22};
  }
}

struct Point {
  double x, y;
};

class Picture {
 public:
  explicit Picture(Graph graph) : graph_(std::move(graph)), places_(places_of(graph_)) {
    for (size_t i = 0; i < graph_.size(); ++i) {
      rows_ = std::max(rows_, places_[i].row + 1);
      lanes_ = std::max(lanes_, places_[i].lane + 1);
      for (const Edge& edge : graph_[i].in) {
        const bool is_new =
            needs_track(edge.from, static_cast<int>(i)) && !tracks_.contains(edge.from);
        if (is_new) tracks_.emplace(edge.from, static_cast<int>(tracks_.size()));
      }
    }
  }

  std::string draw(const std::string& title, std::vector<std::string> equations) {
    if (is_learnt()) equations.push_back("here: w are learnt weights, Σ a weighted sum");
    head_ = kTop + kLine * static_cast<double>(equations.size()) + 8;
    height_ = head_ + kRow * rows_ + kBottom;
    double longest = 8.8 * static_cast<double>(title.size());
    for (const auto& equation : equations)
      longest = std::max(longest, 7.2 * static_cast<double>(equation.size()));
    const double width =
        std::max({left() + kLane * (lanes_ - 1) + kSide + 20, longest + 40, 300.0});
    std::string body =
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" "
        "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
        "style=\"fill:context-stroke\"/>"
        "</marker></defs>\n";
    for (size_t i = 0; i < equations.size(); ++i) {
      body += fmt::format("<text class=\"soft\" x=\"20\" y=\"{:.0f}\">{}</text>\n",
                          kTop + kLine * static_cast<double>(i), escaped(equations[i]));
    }
    for (size_t i = 0; i < graph_.size(); ++i) {
      for (const Edge& edge : graph_[i].in) body += line(edge, static_cast<int>(i));
    }
    for (size_t i = 0; i < graph_.size(); ++i) body += node(static_cast<int>(i));
    return report::svg_page(
        {.width = width, .height = height_, .title_at = 20, .title = title, .is_sized = true},
        body);
  }

 private:
  double left() const { return kSide + kTrack * static_cast<double>(tracks_.size()); }
  double x_of(int lane) const { return left() + kLane * lane; }
  double y_of(double row) const { return head_ + kRow * (rows_ - row - 0.5); }
  Point at(int node) const { return {x_of(places_[node].lane), y_of(places_[node].row)}; }

  // Whether no node stands in the lane at these rows.
  bool is_free(int lane, int first, int last) const {
    return std::ranges::none_of(
        places_, [&](const Place& p) { return p.lane == lane && p.row >= first && p.row <= last; });
  }
  // Whether no node stands in the row between the lanes.
  bool is_open(int row, int a, int b) const {
    return std::ranges::none_of(places_, [&](const Place& p) {
      return p.row == row && p.lane > std::min(a, b) && p.lane < std::max(a, b);
    });
  }
  bool goes_straight(const Place& a, const Place& b) const {
    return a.lane == b.lane && is_free(a.lane, a.row + 1, b.row - 1);
  }
  // Up in its own lane, then into the side of a sum.
  bool goes_beside(const Place& a, const Place& b) const {
    return a.lane != b.lane && is_free(a.lane, a.row + 1, b.row) && is_open(b.row, a.lane, b.lane);
  }
  // To the other lane, then up.
  bool goes_across(const Place& a, const Place& b) const {
    return a.lane != b.lane && is_free(b.lane, a.row + 1, b.row - 1);
  }
  bool needs_track(int from, int to) const {
    const Place &a = places_[from], &b = places_[to];
    return !goes_straight(a, b) && !goes_across(a, b) &&
           !(graph_[to].kind == Kind::sum && goes_beside(a, b));
  }

  bool is_learnt() const {
    return std::ranges::any_of(graph_, [](const Node& node) {
      return node.kind == Kind::mix ||
             std::ranges::any_of(node.in, [](const Edge& e) { return e.weight.ends_with("w"); });
    });
  }

  // Learnt weights of several operands stand in the node instead.
  bool names_weights(int node) const {
    return std::ranges::count(graph_[node].in, "w", &Edge::weight) > 2;
  }

  std::string path(const Place& from, const std::string& d) const {
    return fmt::format(
        "<path class=\"line\" stroke=\"var(--c{})\" d=\"{}\" marker-end=\"url(#tip)\"/>\n",
        from.lane % kColours, d);
  }

  std::string weight(const Edge& edge, int to, const Point& p, const char* anchor) const {
    if (edge.weight.empty() || (edge.weight == "w" && names_weights(to))) return "";
    return fmt::format(
        "<text class=\"soft\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n", p.x, p.y,
        anchor, escaped(edge.weight));
  }

  std::string line(const Edge& edge, int to) const {
    const Place &a = places_[edge.from], &b = places_[to];
    const Size from = size_of(graph_[edge.from].kind), into = size_of(graph_[to].kind);
    const Point p = at(edge.from), q = at(to);
    const double top = p.y - from.height / 2, bottom = q.y + into.height / 2;
    if (goes_straight(a, b)) {
      return path(a, fmt::format("M{:.0f} {:.0f}V{:.0f}", p.x, top, bottom)) +
             weight(edge, to, {p.x + 6, (top + bottom) / 2 + 5}, "start");
    }
    if (graph_[to].kind == Kind::sum && goes_beside(a, b)) {
      const double side = q.x + (p.x > q.x ? 1 : -1) * into.width / 2;
      return path(a, fmt::format("M{:.0f} {:.0f}V{:.0f}H{:.0f}", p.x, top, q.y, side)) +
             weight(edge, to, {(p.x + side) / 2, q.y - 5}, "middle");
    }
    if (goes_across(a, b)) {
      const double bend = p.y - kRow * 0.5;
      return path(a,
                  fmt::format("M{:.0f} {:.0f}V{:.0f}H{:.0f}V{:.0f}", p.x, top, bend, q.x, bottom)) +
             weight(edge, to, {q.x + 6, (bend + bottom) / 2 + 5}, "start");
    }
    const double track = left() - kSide / 2 - 26 - kTrack * tracks_.at(edge.from);
    const double out = p.y - kRow * 0.42, in = q.y + kRow * 0.4;
    return path(a, fmt::format("M{:.0f} {:.0f}V{:.0f}H{:.0f}V{:.0f}H{:.0f}V{:.0f}", p.x, top, out,
                               track, in, q.x - into.width / 4, bottom)) +
           weight(edge, to, {q.x - into.width / 4 - 8, in - 4}, "end");
  }

  std::string node(int i) const {
    const Node& node = graph_[i];
    const auto [width, height] = size_of(node.kind);
    const Point p = at(i);
    const bool is_round = node.kind == Kind::sum;
    const bool is_end = node.kind == Kind::input || node.kind == Kind::output;
    const bool is_filled = node.kind == Kind::block;
    std::string out;
    if (!is_end) {
      out = fmt::format(
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"{:.0f}\" "
          "style=\"fill:var({});stroke:var({});stroke-width:1.5\"/>\n",
          p.x - width / 2, p.y - height / 2, width, height, is_round ? width / 2 : 5,
          is_filled ? "--grid" : "--paper", is_round ? "--soft" : "--ink");
    }
    const std::string label = node.kind == Kind::sum && names_weights(i) ? "Σ"
                              : node.kind == Kind::mix                   ? "Σ " + node.label
                                                                         : node.label;
    return out + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                             p.x, p.y + 4.5, escaped(label));
  }

  const Graph graph_;
  const std::vector<Place> places_;
  int rows_ = 0, lanes_ = 0;
  std::map<int, int> tracks_;  // of lines that leave their lane to the left, by node
  double head_ = 0, height_ = 0;
};

}  // namespace

std::string draw(const schemes::Choice& choice, int layers) {
  const schemes::Choice resolved = schemes::resolve(choice);
  const schemes::Entry& entry = schemes::find(resolved.name);
  const std::string variant = resolved.variant.empty() ? "" : " (" + resolved.variant + ")";
  return Picture(graph_of(resolved, layers))
      .draw(fmt::format("{}{}, {} layer{} of two blocks", entry.name, variant, layers,
                        layers == 1 ? "" : "s"),
            entry.equations);
}

}  // namespace residual::drawing
