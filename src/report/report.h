#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

// What a probe found, as figures that can be drawn, read as tables and fed to programs.
namespace residual::report {

struct Series {
  std::string name;
  std::vector<double> x, y;  // NaN: no value
  bool dashed = false;       // a prediction, not a measurement
  int colour = -1;           // of the palette; -1: by its place among the series
};

// y over 1, 2, 3 ...: blocks, layers and steps count so in the paper.
Series counted(std::string name, std::vector<double> y, int colour = -1);

// A line chart, or, with `matrix`, a heat map of values from 0 to 1.
struct Figure {
  std::string id;  // file name without extension
  std::string section;
  std::string title, x_label, y_label;
  bool log_y = false;
  std::string note;  // what is shown and what to make of it
  std::vector<Series> series;
  std::vector<std::vector<double>> matrix;
};

struct TextCell {
  std::string text;
  std::string link = {};  // relative to the report; empty: none
};

// A table for people, which stands before the figures of its section.
struct TextTable {
  std::string id;
  std::string section;
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<TextCell>> rows = {};
  std::string note = {};
};

struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Figure> figures;
  std::vector<TextTable> tables = {};
};

// The series of a figure side by side: a row for each x that any of them has.
struct Table {
  std::vector<std::string> columns;  // the x label, then the series' names
  std::vector<std::vector<double>> rows;
};
Table table_of(const Figure& figure);

std::string to_csv(const Figure& figure);
std::string to_json(const Report& report);
std::string to_svg(const Figure& figure);
// One page that needs nothing else: charts that can be zoomed and read off, tables, light and dark.
std::string to_html(const Report& report);
// Tables, and figures as links to <id>.svg.
std::string to_markdown(const Report& report);

enum class Format { html, csv, json, svg, markdown };

// report.html, report.json, report.md, and <id>.csv and <id>.svg for each figure. The directory is
// made if it is not there; files in it that have these names are replaced.
void write_report(const Report& report, const std::set<Format>& formats, const fs::path& directory);

}  // namespace residual::report
