#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The ResiDual paper's tables of results (arXiv:2304.14802), as printed.
namespace residual::study {

// What a column shows: the score of one test set, or the mean over all, at one depth.
struct PaperColumn {
  std::string title;
  int64_t layers;    // of each stack; 0: as the row says
  std::string test;  // empty: all
};

struct PaperRow {
  std::vector<std::string> head;    // method, and what distinguishes its rows
  std::string scheme;               // its name here; empty: not a scheme that the study trains
  std::string schedule;             // of the plan; empty: the first
  std::vector<std::string> values;  // "35.37", "Fail"; by column
};

struct PaperTable {
  int64_t number;
  std::string caption;
  std::vector<std::string> head;
  std::vector<PaperColumn> columns;
  std::vector<PaperRow> rows;
};

// Directions of a multilingual test set that count as one column: from and to English.
inline constexpr const char* kFromEnglish = "EX";
inline constexpr const char* kToEnglish = "XE";

const PaperTable* find_table(int64_t number);  // nullptr: there is none
std::vector<int64_t> table_numbers();

}  // namespace residual::study
