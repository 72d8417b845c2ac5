#include "metrics/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/unicode.h"

namespace residual::metrics {
namespace {

using Json = nlohmann::ordered_json;

std::string fixed(double value, int width) { return fmt::format("{:.{}f}", value, width); }
double rounded(double value, int width) { return std::stod(fixed(value, width)); }

std::string confidence_text(const Interval& interval, int width) {
  return fmt::format("μ = {} ± {}", fixed(interval.mean, width), fixed(interval.half_width, width));
}

Json json_of(const ScoreReport& report, int width) {
  Json json{{"name", report.name},
            {"score", rounded(report.score, width)},
            {"signature", report.signature.text()}};
  if (report.confidence) {
    json["confidence_mean"] = rounded(report.confidence->mean, width);
    json["confidence_var"] = rounded(report.confidence->half_width, width);
    json["confidence"] = confidence_text(*report.confidence, width);
  }
  if (!report.details.empty()) json["verbose_score"] = report.details;
  for (const auto& field : report.signature.fields()) json[field.key] = field.value;
  return json;
}

size_t display_width(const std::string& text) { return text::to_code_points(text).size(); }

enum class Align { right, centre };

std::string padded(const std::string& text, size_t width, Align align) {
  const size_t missing = width - std::min(width, display_width(text));
  const size_t left = align == Align::right ? missing : missing / 2;
  return std::string(left, ' ') + text + std::string(missing - left, ' ');
}

std::vector<std::string> lines_of(const std::string& cell) {
  std::vector<std::string> lines;
  for (size_t start = 0; start <= cell.size();) {
    const size_t end = std::min(cell.find('\n', start), cell.size());
    lines.push_back(cell.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// A grid of cells that may have several lines; the first row is the header, the first column is
// set to the right.
class Table {
 public:
  explicit Table(std::vector<std::vector<std::string>> rows) : rows_(std::move(rows)) {
    for (size_t c = 0; c < rows_.front().size(); ++c) {
      size_t width = display_width(rows_.front()[c]) + 2;
      for (size_t r = 1; r < rows_.size(); ++r) {
        for (const auto& line : lines_of(rows_[r][c])) width = std::max(width, display_width(line));
      }
      widths_.push_back(width);
    }
  }

  std::string text() const {
    std::string out = rule("╒", "═", "╤", "╕") + row(rows_.front()) + rule("╞", "═", "╪", "╡");
    for (size_t r = 1; r < rows_.size(); ++r) {
      if (r > 1) out += rule("├", "─", "┼", "┤");
      out += row(rows_[r]);
    }
    return out + rule("╘", "═", "╧", "╛");
  }

 private:
  std::string rule(const std::string& left, const std::string& line, const std::string& cross,
                   const std::string& right) const {
    std::string out = left;
    for (size_t c = 0; c < widths_.size(); ++c) {
      out += (c == 0 ? "" : cross) + repeated(line, widths_[c] + 2);
    }
    return out + right + "\n";
  }

  std::string row(const std::vector<std::string>& cells) const {
    std::vector<std::vector<std::string>> split;
    size_t height = 1;
    for (const auto& cell : cells) {
      split.push_back(lines_of(cell));
      height = std::max(height, split.back().size());
    }
    std::string out;
    for (size_t h = 0; h < height; ++h) {
      for (size_t c = 0; c < cells.size(); ++c) {
        const std::string line = h < split[c].size() ? split[c][h] : "";
        out += "│ " + padded(line, widths_[c], c == 0 ? Align::right : Align::centre) + " ";
      }
      out += "│\n";
    }
    return out;
  }

  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

bool is_bootstrap(const Column& column) {
  return std::any_of(column.results.begin(), column.results.end(),
                     [](const Result& result) { return result.mean.has_value(); });
}

bool is_paired(const Column& column) {
  return std::any_of(column.results.begin(), column.results.end(),
                     [](const Result& result) { return result.p_value.has_value(); });
}

std::string cell_of(const Result& result, int width) {
  std::string text = fixed(result.score, width);
  if (result.mean) {
    text +=
        fmt::format(" ({} ± {})", fixed(*result.mean, width), fixed(*result.half_interval, width));
  }
  if (result.p_value) {
    text += fmt::format("\n(p = {:.4f}){}", *result.p_value, *result.p_value > 0.05 ? "" : "*");
  }
  return text;
}

std::string systems_json(const std::vector<std::string>& systems,
                         const std::vector<Column>& columns, int width) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json list = Json::array();
  for (size_t s = 0; s < systems.size(); ++s) {
    Json object{{"system", systems[s]}};
    for (const Column& column : columns) {
      const Result& result = column.results[s];
      if (is_paired(column)) {
        object[column.metric] = Json{{"score", result.score},
                                     {"p_value", number(result.p_value)},
                                     {"mean", number(result.mean)},
                                     {"ci", number(result.half_interval)}};
      } else {
        object[column.metric] = fixed(result.score, width);
      }
    }
    list.push_back(object);
  }
  return list.dump(4, ' ', true, Json::error_handler_t::replace) + "\n";
}

// What the stars mean.
std::string explanation(const std::vector<std::string>& systems, const Column& column) {
  const std::string test =
      is_bootstrap(column) ? "Paired bootstrap resampling" : "Paired approximate randomisation";
  return fmt::format(
      "{} against {}.\n"
      "p: how often chance alone gives a larger difference, if both systems were equally\n"
      "good; * marks p <= 0.05. A star says that the difference would likely be seen again, not\n"
      "that it is large.\n\n",
      test, systems.front());
}

}  // namespace

std::string format_score(const ScoreReport& report, const ReportOptions& options, bool indented) {
  std::string score = fixed(report.score, options.width);
  if (report.confidence) {
    score += fmt::format(" ({})", confidence_text(*report.confidence, options.width));
  }
  if (options.score_only) return score;
  if (options.json) return json_of(report, options.width).dump(indented ? 1 : -1);
  std::string line =
      fmt::format("{}|{} = {}", report.name, report.signature.text(options.abbreviated), score);
  if (!report.details.empty()) line += " " + report.details;
  return line;
}

std::string format_scores(const std::vector<ScoreReport>& reports, const ReportOptions& options) {
  std::vector<std::string> texts;
  for (const ScoreReport& report : reports) texts.push_back(format_score(report, options, true));
  if (options.json) {
    const std::string joined = fmt::format("{}", fmt::join(texts, ",\n"));
    return texts.size() == 1 ? joined + "\n" : "[\n" + joined + "\n]\n";
  }
  // Up to the space before '='; a bare score has none.
  size_t left = 0;
  for (const auto& text : texts) {
    const size_t equals = text.find(" = ");
    if (equals != std::string::npos) left = std::max(left, display_width(text.substr(0, equals)));
  }
  std::string out;
  for (const auto& text : texts) {
    const size_t equals = text.find(" = ");
    const size_t width = equals == std::string::npos ? left : display_width(text.substr(0, equals));
    out += std::string(left - width, ' ') + text + "\n";
  }
  return out;
}

std::string format_systems(const std::vector<std::string>& systems,
                           const std::vector<Column>& columns, const ReportOptions& options) {
  if (options.json) return systems_json(systems, columns, options.width);
  std::vector<std::vector<std::string>> rows(systems.size() + 1);
  rows[0].push_back("System");
  for (size_t s = 0; s < systems.size(); ++s) rows[s + 1].push_back(systems[s]);
  for (const Column& column : columns) {
    rows[0].push_back(column.metric + (is_bootstrap(column) ? " (μ ± 95% CI)" : ""));
    for (size_t s = 0; s < systems.size(); ++s) {
      rows[s + 1].push_back(cell_of(column.results[s], options.width));
    }
  }
  std::string out = Table(std::move(rows)).text() + "\n";
  if (is_paired(columns.front())) out += explanation(systems, columns.front());
  out += "-----------------\nMetric signatures\n-----------------\n";
  for (const Column& column : columns) {
    out += fmt::format(" - {:<10} {}\n", column.metric, column.signature.text(options.abbreviated));
  }
  return out;
}

}  // namespace residual::metrics
