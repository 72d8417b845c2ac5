#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

namespace residual::report {

// The files of web/, compiled in.
extern const std::string_view report_html, report_css, report_js, live_html_text, live_js,
    uplot_css, uplot_js;

namespace {

using nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Returns `text` with every `from` replaced by `to`.
std::string replaced(const std::string& text, char from, const char* to) {
  std::string out;
  for (const char c : text) {
    if (c == from) {
      out.append(to);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return fmt::format("\"{}\"", replaced(text, '"', "\"\""));
}

// A cell without a value is empty.
std::string csv_line(const std::vector<double>& values) {
  std::vector<std::string> cells;
  for (const double v : values) cells.push_back(std::isfinite(v) ? fmt::format("{}", v) : "");
  return fmt::format("{}\n", fmt::join(cells, ","));
}

std::string labelled_csv(const Figure& figure) {
  std::vector<std::string> head = {""};
  for (const auto& label : figure.column_labels) head.push_back(csv_cell(label));
  std::string out = fmt::format("{}\n", fmt::join(head, ","));
  for (size_t r = 0; r < figure.matrix.size(); ++r) {
    out += csv_cell(figure.row_labels[r]) + "," + csv_line(figure.matrix[r]);
  }
  return out;
}

ordered_json json_of(const std::vector<std::vector<double>>& rows) {
  ordered_json out = ordered_json::array();
  for (const auto& row : rows) {
    ordered_json cells = ordered_json::array();
    for (const double v : row) cells.push_back(std::isfinite(v) ? ordered_json(v) : nullptr);
    out.push_back(std::move(cells));
  }
  return out;
}

ordered_json json_of(const Figure& f) {
  ordered_json out = {{"id", f.id},
                      {"section", f.section},
                      {"title", f.title},
                      {"x_label", f.x_label},
                      {"y_label", f.y_label},
                      {"log_y", f.log_y},
                      {"from_zero", f.from_zero},
                      {"note", f.note}};
  if (!f.matrix.empty()) {
    out["matrix"] = json_of(f.matrix);
    if (!f.row_labels.empty()) {
      out["row_labels"] = f.row_labels;
      out["column_labels"] = f.column_labels;
    }
    return out;
  }
  out["series"] = ordered_json::array();
  for (size_t i = 0; i < f.series.size(); ++i) {
    const Series& s = f.series[i];
    const int colour = s.colour < 0 ? static_cast<int>(i) : s.colour;
    // A line goes on where only other lines have a value, but breaks where it has none itself.
    const bool spans = std::ranges::all_of(s.y, [](double v) { return std::isfinite(v); });
    out["series"].push_back(
        {{"name", s.name}, {"dashed", s.dashed}, {"colour", colour}, {"spans", spans}});
  }
  out["rows"] = json_of(table_of(f).rows);
  return out;
}

ordered_json json_of(const TextTable& t) {
  ordered_json rows = ordered_json::array();
  for (const auto& row : t.rows) {
    ordered_json cells = ordered_json::array();
    for (const auto& cell : row) cells.push_back({{"text", cell.text}, {"link", cell.link}});
    rows.push_back(std::move(cells));
  }
  return {{"id", t.id},           {"section", t.section}, {"title", t.title},
          {"columns", t.columns}, {"rows", rows},         {"note", t.note}};
}

ordered_json json_of(const Message& m) {
  constexpr const char* kKinds[] = {"problem", "note", "good"};
  return {{"kind", kKinds[static_cast<size_t>(m.kind)]}, {"text", m.text}};
}

ordered_json json_of(const Drawing& d) {
  return {
      {"id", d.id}, {"section", d.section}, {"title", d.title}, {"svg", d.svg}, {"note", d.note}};
}

template <class Item>
ordered_json list_of(const std::vector<Item>& items) {
  ordered_json list = ordered_json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

ordered_json json_of(const Report& report) {
  ordered_json facts = ordered_json::object();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  return {{"title", report.title},
          {"facts", facts},
          {"messages", list_of(report.messages)},
          {"sections", report.sections},
          {"tables", list_of(report.tables)},
          {"drawings", list_of(report.drawings)},
          {"figures", list_of(report.figures)}};
}

// Names of files and of runs may be no UTF-8.
std::string dump(const Report& report, int indent) {
  return json_of(report).dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string escaped_html(const std::string& text) {
  return replaced(replaced(text, '&', "&amp;"), '<', "&lt;");
}

// Escapes JSON for a script element: "</script>" in a label must not end the element.
std::string script_json(const Report& report) { return replaced(dump(report, -1), '<', "\\u003c"); }

// Puts the parts that all pages have, and further ones, in place of their {{names}}.
std::string filled(std::string_view frame, std::map<std::string_view, std::string> parts) {
  parts.insert({{"uplot_css", std::string(uplot_css)},
                {"css", std::string(report_css)},
                {"uplot_js", std::string(uplot_js)},
                {"js", std::string(report_js)}});
  std::string page;
  for (size_t at = 0; at < frame.size();) {
    const size_t open = frame.find("{{", at);
    page += frame.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const size_t close = frame.find("}}", open);
    page += parts.at(frame.substr(open + 2, close - open - 2));
    at = close + 2;
  }
  return page;
}

}  // namespace

Series counted(std::string name, std::vector<double> y, int colour) {
  Series series{.name = std::move(name), .x = std::vector<double>(y.size()), .colour = colour};
  std::iota(series.x.begin(), series.x.end(), 1.0);
  series.y = std::move(y);
  return series;
}

Table table_of(const Figure& figure) {
  Table table{.columns = {figure.x_label}, .rows = {}};
  std::map<double, std::vector<double>> by_x;
  for (size_t s = 0; s < figure.series.size(); ++s) {
    const Series& series = figure.series[s];
    table.columns.push_back(series.name);
    for (size_t i = 0; i < series.x.size(); ++i) {
      auto& row = by_x[series.x[i]];
      row.resize(figure.series.size(), kNone);
      row[s] = series.y[i];
    }
  }
  for (auto& [x, values] : by_x) {
    values.insert(values.begin(), x);
    table.rows.push_back(std::move(values));
  }
  return table;
}

std::string to_csv(const Figure& figure) {
  std::string out;
  if (!figure.matrix.empty()) {
    if (!figure.row_labels.empty()) return labelled_csv(figure);
    for (const auto& row : figure.matrix) out += csv_line(row);
    return out;
  }
  const Table table = table_of(figure);
  std::vector<std::string> head;
  for (const auto& column : table.columns) head.push_back(csv_cell(column));
  out = fmt::format("{}\n", fmt::join(head, ","));
  for (const auto& row : table.rows) out += csv_line(row);
  return out;
}

std::string to_json(const Report& report) { return dump(report, 1) + "\n"; }

std::string to_html(const Report& report) {
  return filled(report_html,
                {{"title", escaped_html(report.title)}, {"data", script_json(report)}});
}

std::string live_html() { return filled(live_html_text, {{"live_js", std::string(live_js)}}); }

void write_report(const Report& report, const std::set<Format>& formats,
                  const fs::path& directory) {
  fs::create_directories(directory);
  for (const auto& figure : report.figures) {
    if (formats.contains(Format::csv)) {
      replace_file(directory / (figure.id + ".csv"), to_csv(figure));
    }
    if (formats.contains(Format::svg)) {
      replace_file(directory / (figure.id + ".svg"), to_svg(figure));
    }
  }
  if (formats.contains(Format::json)) replace_file(directory / "report.json", to_json(report));
  if (formats.contains(Format::html)) replace_file(directory / "report.html", to_html(report));
  if (formats.contains(Format::markdown)) {
    replace_file(directory / "report.md", to_markdown(report));
  }
}

}  // namespace residual::report
