#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

// Results as figures and tables, which can be written as HTML, Markdown, JSON, CSV and SVG.
namespace residual::report {

struct Series {
  std::string name;
  std::vector<double> x, y;  // NaN: no value
  bool dashed = false;       // a prediction, not a measurement
  int colour = -1;           // index into the palette; -1: the index of the series
};

// Makes a series of y over 1, 2, 3 ..., as the paper counts blocks, layers and steps.
Series counted(std::string name, std::vector<double> y, int colour = -1);

// A line chart, or, with `matrix`, a heat map: of values from 0 to 1, or, with labels, of positive
// values that are printed in their cells and coloured by their logarithms (NaN: no value).
struct Figure {
  std::string id;  // file name without extension
  std::string section;
  std::string title, x_label, y_label;
  bool log_y = false;
  bool from_zero = true;  // the y axis begins at 0 at most
  std::string note;       // explanation and interpretation
  std::vector<Series> series;
  std::vector<std::vector<double>> matrix;
  std::vector<std::string> row_labels, column_labels;
};

struct TextCell {
  std::string text;
  std::string link = {};  // relative to the report; empty: none
};

// A text table, placed before the figures of its section.
struct TextTable {
  std::string id;
  std::string section;
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<TextCell>> rows = {};
  std::string note = {};
};

// An image that a figure does not describe.
struct Drawing {
  std::string id;
  std::string section;
  std::string title;
  std::string svg;
  std::string note = {};
};

// What a reader should know first; it precedes everything else.
struct Message {
  enum class Kind { problem, note, good };
  Kind kind = Kind::problem;
  std::string text;
};

struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Figure> figures = {};
  std::vector<TextTable> tables = {};
  std::vector<Message> messages = {};
  std::vector<Drawing> drawings = {};
  std::vector<std::string> sections = {};  // which come first, in this order
};

// A figure's series as columns, with a row for each x of any series.
struct Table {
  std::vector<std::string> columns;  // the x label, then the series' names
  std::vector<std::vector<double>> rows;
};
Table table_of(const Figure& figure);

std::string to_csv(const Figure& figure);
std::string to_json(const Report& report);
std::string to_svg(const Figure& figure);
// Returns one self-contained page: interactive charts, tables, light and dark colours.
std::string to_html(const Report& report);
// Returns a page that shows the reports of a server's runs and keeps them up to date:
// web/report/live.js.
std::string live_html();
// Returns the tables, and the figures as links to <id>.svg.
std::string to_markdown(const Report& report);

enum class Format { html, csv, json, svg, markdown };

// Writes report.html, report.json, report.md, and <id>.csv and <id>.svg for each figure. Creates
// the directory if needed and replaces existing files of these names.
void write_report(const Report& report, const std::set<Format>& formats, const fs::path& directory);

}  // namespace residual::report
