// Figures as SVG: lines over two axes, or a heat map. Colours follow the reader's light or dark
// setting, as on the page.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/report.h"
#include "report/svg.h"

namespace residual::report {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 76, kRight = 20, kTop = 44, kBottom = 52;
constexpr double kLegendLine = 18;
constexpr int kColours = 8;  // --c0 ... of kStyle, then repeated

// The palette is Okabe and Ito's (2008), made for readers with any colour vision; the same as in
// web/report/report.css.
constexpr const char* kStyle = R"(<style>
:root{--ink:#1d2430;--soft:#5a6473;--grid:#e3e7ee;--paper:#fff;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#8a6d00;--c5:#56b4e9;--c6:#7a4fc4;--c7:#6b7280}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf3;--soft:#9aa5b5;--grid:#2b3340;--paper:#12161d;
--c0:#4aa8e8;--c1:#ff8a3d;--c2:#2fcf9f;--c3:#f0a3cd;--c4:#e2c23c;--c5:#9ad7ff;--c6:#b79bff;--c7:#aab3c0}}
text{font:13px system-ui,sans-serif;fill:var(--ink)}
.soft{fill:var(--soft)}
.title{font-size:15px;font-weight:600}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.dashed{stroke-dasharray:6 4}
.grid{stroke:var(--grid)}
.paper{fill:var(--paper)}
</style>
)";

// One axis: maps values to pixels and places its labels.
struct Axis {
  double low, high;  // range of the values, or of their logarithms to base 10
  double from, to;   // pixels
  bool logarithmic = false;

  double at(double value) const {
    const double v = logarithmic ? std::log10(value) : value;
    return from + (v - low) / (high - low) * (to - from);
  }
  bool shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
};

// Returns 1, 2 or 5 times a power of ten, so that about `count` steps fill the range.
double nice_step(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::vector<double> ticks(const Axis& axis) {
  std::vector<double> found;
  const double step = axis.logarithmic ? std::max(1.0, std::ceil((axis.high - axis.low) / 8))
                                       : nice_step(axis.high - axis.low, 6);
  for (double v = std::ceil(axis.low / step) * step; v <= axis.high + step * 1e-9; v += step) {
    const double rounded = std::abs(v) < step * 1e-9 ? 0 : v;
    found.push_back(axis.logarithmic ? std::pow(10, rounded) : rounded);
  }
  return found;
}

std::string label(const Axis& axis, double tick) {
  if (!axis.logarithmic) return fmt::format("{:.6g}", tick);
  const int exponent = static_cast<int>(std::lround(std::log10(tick)));
  if (exponent >= -2 && exponent <= 4) return fmt::format("{:g}", tick);
  return fmt::format("10<tspan dy=\"-5\" font-size=\"10\">{}</tspan>", exponent);
}

Axis make_axis(const Figure& figure, bool horizontal, double bottom) {
  Axis axis{.low = std::numeric_limits<double>::infinity(),
            .high = -std::numeric_limits<double>::infinity(),
            .from = horizontal ? kLeft : bottom,
            .to = horizontal ? kWidth - kRight : kTop,
            .logarithmic = !horizontal && figure.log_y};
  for (const auto& series : figure.series) {
    for (const double value : horizontal ? series.x : series.y) {
      if (!axis.shows(value)) continue;
      const double v = axis.logarithmic ? std::log10(value) : value;
      axis.low = std::min(axis.low, v);
      axis.high = std::max(axis.high, v);
    }
  }
  if (axis.low > axis.high) axis.low = 0, axis.high = 1;
  if (!horizontal && !axis.logarithmic && figure.from_zero) axis.low = std::min(axis.low, 0.0);
  if (axis.low == axis.high) axis.high = axis.low + 1;
  if (!horizontal) axis.high += 0.04 * (axis.high - axis.low);
  return axis;
}

std::string axes(const Axis& x, const Axis& y, const Figure& figure) {
  std::string out;
  for (const double tick : ticks(y)) {
    const double at = y.at(tick);
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", x.from, at, x.to);
    out += fmt::format(
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        x.from - 8, at + 4, label(y, tick));
  }
  for (const double tick : ticks(x)) {
    out += fmt::format(
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        x.at(tick), y.from + 20, label(x, tick));
  }
  out += fmt::format(
      "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}"
      "</text>\n",
      (x.from + x.to) / 2, y.from + 42, escaped(figure.x_label));
  out += fmt::format(
      "<text class=\"soft\" transform=\"translate(16 {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      (y.from + y.to) / 2, escaped(figure.y_label));
  return out;
}

int colour_of(const Series& series, size_t place) {
  return (series.colour < 0 ? static_cast<int>(place) : series.colour) % kColours;
}

std::string line(const Axis& x, const Axis& y, const Series& series, size_t place) {
  std::string path;
  bool drawing = false;
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!y.shows(series.y[i])) {
      drawing = false;
      continue;
    }
    path +=
        fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x.at(series.x[i]), y.at(series.y[i]));
    drawing = true;
  }
  return fmt::format("<path class=\"line{}\" stroke=\"var(--c{})\" d=\"{}\"/>\n",
                     series.dashed ? " dashed" : "", colour_of(series, place), path);
}

std::string legend(const Figure& figure, double top) {
  std::string out;
  for (size_t s = 0; s < figure.series.size(); ++s) {
    const double left = s % 2 == 0 ? kLeft : kWidth / 2;
    const double at = top + kLegendLine * static_cast<double>(s / 2);
    out += fmt::format(
        "<path class=\"line{}\" stroke=\"var(--c{})\" d=\"M{:.0f} {:.0f}h26\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        figure.series[s].dashed ? " dashed" : "", colour_of(figure.series[s], s), left, at - 4,
        left + 34, at, escaped(figure.series[s].name));
  }
  return out;
}

std::string frame(const Figure& figure, double height, const std::string& body) {
  return svg_page({.width = kWidth, .height = height, .title_at = kLeft, .title = figure.title},
                  body);
}

// Draws cells in 32 shades and merges neighbours of the same shade in a row into one rectangle.
std::string heat_map(const Figure& figure) {
  constexpr int kShades = 32;
  const auto size = static_cast<double>(figure.matrix.size());
  const double cell = (kWidth - kLeft - kRight) / size;
  std::string out;
  for (size_t r = 0; r < figure.matrix.size(); ++r) {
    const auto& row = figure.matrix[r];
    const auto shade = [&](size_t c) {
      return static_cast<int>(std::lround(std::clamp(row[c], 0.0, 1.0) * kShades));
    };
    for (size_t begin = 0, end = 0; begin < row.size(); begin = end) {
      while (end < row.size() && shade(end) == shade(begin)) ++end;
      out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
          "fill=\"var(--c0)\" fill-opacity=\"{:.3f}\"/>\n",
          kLeft + cell * static_cast<double>(begin), kTop + cell * static_cast<double>(r),
          cell * static_cast<double>(end - begin), cell,
          shade(begin) / static_cast<double>(kShades));
    }
  }
  const Axis x{.low = 0.5, .high = size + 0.5, .from = kLeft, .to = kWidth - kRight};
  const Axis y{.low = 0.5, .high = size + 0.5, .from = kTop, .to = kTop + cell * size};
  for (const double tick : ticks(x)) {
    if (tick < 1) continue;
    out += fmt::format(
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}"
        "</text>\n<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:g}</text>\n",
        x.at(tick), y.to + 20, tick, x.from - 8, y.at(tick) + 4, tick);
  }
  out += fmt::format(
      "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}, "
      "from 0 (clear) to 1 (full colour)</text>\n",
      (x.from + x.to) / 2, y.to + 42, escaped(figure.x_label));
  return frame(figure, y.to + kBottom, out);
}

// Rows and columns with labels, and the values in the cells: the lower, the stronger the colour.
std::string labelled_map(const Figure& figure) {
  constexpr double kLabels = 170, kRow = 30;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const auto& row : figure.matrix) {
    for (const double value : row) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double range = high > low ? std::log(high / low) : 1;
  const double cell =
      (kWidth - kLabels - kRight) / static_cast<double>(figure.column_labels.size());
  const auto text = [](double x, double y, const char* anchor, const std::string& content) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       anchor, escaped(content));
  };
  std::string out;
  for (size_t c = 0; c < figure.column_labels.size(); ++c) {
    out += text(kLabels + cell * (static_cast<double>(c) + 0.5), kTop + 14, "middle",
                figure.column_labels[c]);
  }
  for (size_t r = 0; r < figure.matrix.size(); ++r) {
    const double y = kTop + 24 + kRow * static_cast<double>(r);
    out += text(kLabels - 8, y + kRow / 2 + 5, "end", figure.row_labels[r]);
    for (size_t c = 0; c < figure.matrix[r].size(); ++c) {
      const double value = figure.matrix[r][c], x = kLabels + cell * static_cast<double>(c);
      if (std::isfinite(value)) {
        out += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
            "fill=\"var(--c0)\" fill-opacity=\"{:.3f}\"/>\n",
            x, y, cell - 1, kRow - 1, 0.6 * std::log(high / value) / range);
      }
      out += text(x + cell / 2, y + kRow / 2 + 5, "middle",
                  std::isfinite(value) ? fmt::format("{:.4g}", value) : "–");
    }
  }
  const double bottom = kTop + 24 + kRow * static_cast<double>(figure.matrix.size());
  out += text((kLabels + kWidth - kRight) / 2, bottom + 22, "middle",
              figure.x_label + "; strong colour: low");
  return frame(figure, bottom + 36, out);
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_page(const SvgPage& page, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\"{6} role=\"img\" "
      "aria-label=\"{2}\">\n{3}<rect class=\"paper\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n"
      "<text class=\"title\" x=\"{4:.0f}\" y=\"26\">{2}</text>\n{5}</svg>\n",
      page.width, page.height, escaped(page.title), kStyle, page.title_at, body,
      page.is_sized ? fmt::format(" width=\"{:.0f}\" height=\"{:.0f}\"", page.width, page.height)
                    : "");
}

std::string to_svg(const Figure& figure) {
  if (!figure.row_labels.empty()) return labelled_map(figure);
  if (!figure.matrix.empty()) return heat_map(figure);
  const double bottom = kHeight - kBottom;
  const Axis x = make_axis(figure, /*horizontal=*/true, bottom);
  const Axis y = make_axis(figure, /*horizontal=*/false, bottom);
  std::string body = axes(x, y, figure);
  for (size_t s = 0; s < figure.series.size(); ++s) body += line(x, y, figure.series[s], s);
  body += legend(figure, kHeight + 18);
  const auto lines = static_cast<double>((figure.series.size() + 1) / 2);
  return frame(figure, kHeight + 12 + kLegendLine * lines, body);
}

}  // namespace residual::report
