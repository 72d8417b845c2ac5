#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The ResiDual paper's tables of results (arXiv:2304.14802), as printed.
namespace residual::study {

// A column: the score of one test set, or the mean over all, at one depth.
struct PaperColumn {
  std::string title;
  int64_t layers;    // of each stack; 0: the row gives it
  std::string test;  // empty: all
};

struct PaperRow {
  std::vector<std::string> head;    // method, and the settings that distinguish its rows
  std::string scheme;               // its name in a plan; empty: the study does not train it
  std::string schedule;             // name in the plan; empty: the first
  std::vector<std::string> values;  // "35.37", "Fail"; by column
};

struct PaperTable {
  int64_t number;
  std::string caption;
  std::vector<std::string> head;
  std::vector<PaperColumn> columns;
  std::vector<PaperRow> rows;
};

// The columns for all directions from English, and for all directions to English.
inline constexpr const char* kFromEnglish = "EX";
inline constexpr const char* kToEnglish = "XE";

const PaperTable* find_table(int64_t number);  // nullptr: no such table
std::vector<int64_t> table_numbers();

}  // namespace residual::study
