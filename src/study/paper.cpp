#include "study/paper.h"

#include <algorithm>

namespace residual::study {
namespace {

const std::vector<PaperColumn> kIwsltDepths = {{"E6D6", 6, ""}, {"E12D12", 12, ""}};
const std::vector<PaperColumn> kWmtDepths = {{"E6D6", 6, ""}, {"E18D18", 18, ""}};

std::vector<PaperColumn> wmt_years(int64_t layers) {
  std::vector<PaperColumn> columns;
  for (const char* year : {"2010", "2011", "2012", "2013", "2014", "2015", "2016"}) {
    columns.push_back({year, layers, year});
  }
  columns.push_back({"Average", layers, ""});
  return columns;
}

const std::vector<PaperTable> kTables = {
    {2,
     "IWSLT",
     {"Method"},
     kIwsltDepths,
     {{{"Post-LN"}, "post-ln", "", {"35.37", "Fail"}},
      {{"Pre-LN"}, "pre-ln", "", {"35.12", "35.18"}},
      {{"DeepNet"}, "deepnorm", "", {"35.34", "35.39"}},
      {{"Admin"}, "admin", "", {"35.50", "35.67"}},
      {{"T-Fixup"}, "t-fixup", "", {"34.88", "35.45"}},
      {{"ResiDual"}, "resi-dual", "", {"35.63", "36.09"}}}},
    {3,
     "WMT with E6D6 and E18D18 models",
     {"Method"},
     kWmtDepths,
     {{{"Pre-LN"}, "pre-ln", "", {"26.10", "26.57"}},
      {{"Post-LN"}, "post-ln", "", {"26.59", "Fail"}},
      {{"DLCL"}, "dlcl", "", {"26.52", "26.90"}},
      {{"T-Fixup"}, "t-fixup", "", {"26.43", "26.94"}},
      {{"DeepNet"}, "deepnorm", "", {"26.38", "27.13"}},
      {{"Admin"}, "admin", "", {"26.49", "26.86"}},
      {{"B2T"}, "b2t", "", {"26.53", "27.30"}},
      {{"ResiDual"}, "resi-dual", "", {"26.85", "27.65"}}}},
    {4,
     "OPUS-100",
     {"Method", "#Layers"},
     {{"EX", 18, kFromEnglish}, {"XE", 18, kToEnglish}, {"ALL", 18, ""}},
     {{{"Zhang et al. (2020)", "6"}, "", "", {"21.4", "27.5", "24.5"}},
      {{"", "12"}, "", "", {"22.9", "29.5", "26.2"}},
      {{"", "24"}, "", "", {"24.0", "31.4", "27.7"}},
      {{"Pre-LN", "18"}, "pre-ln", "", {"27.9", "32.8", "30.3"}},
      {{"DeepNet (Wang et al., 2022)", "100"}, "", "", {"29.0", "33.2", "31.1"}},
      {{"ResiDual", "18"}, "resi-dual", "", {"28.7", "33.4", "31.0"}}}},
    {5,
     "learning-rate warm-up on different models, IWSLT",
     {"Method", "Warm-Up"},
     kIwsltDepths,
     {{{"Post-LN", "Yes"}, "post-ln", "warmup", {"35.37", "Fail"}},
      {{"", "No"}, "post-ln", "no-warmup", {"Fail", "Fail"}},
      {{"Pre-LN", "Yes"}, "pre-ln", "warmup", {"35.12", "35.18"}},
      {{"", "No"}, "pre-ln", "no-warmup", {"32.28", "31.82"}},
      {{"ResiDual", "Yes"}, "resi-dual", "warmup", {"35.63", "36.09"}},
      {{"", "No"}, "resi-dual", "no-warmup", {"35.76", "35.57"}}}},
    {6,
     "WMT with E6D6 models",
     {"Method"},
     wmt_years(6),
     {{{"Pre-LN"},
       "pre-ln",
       "",
       {"24.03", "21.77", "22.08", "25.63", "26.27", "29.07", "33.84", "26.10"}},
      {{"Post-LN"},
       "post-ln",
       "",
       {"24.27", "22.06", "22.43", "26.11", "27.13", "29.70", "34.40", "26.59"}},
      {{"DLCL"},
       "dlcl",
       "",
       {"23.94", "22.00", "22.24", "26.11", "27.37", "29.71", "34.26", "26.52"}},
      {{"T-Fixup"},
       "t-fixup",
       "",
       {"24.09", "21.98", "22.04", "25.96", "26.92", "29.45", "34.56", "26.43"}},
      {{"DeepNet"},
       "deepnorm",
       "",
       {"24.08", "21.76", "22.09", "25.90", "26.85", "29.62", "34.39", "26.38"}},
      {{"Admin"},
       "admin",
       "",
       {"24.32", "21.79", "22.17", "26.26", "27.14", "29.61", "34.12", "26.49"}},
      {{"B2T"},
       "b2t",
       "",
       {"24.12", "21.93", "22.29", "26.31", "26.84", "29.48", "34.73", "26.53"}},
      {{"ResiDual"},
       "resi-dual",
       "",
       {"24.42", "22.20", "22.66", "26.64", "27.23", "30.22", "34.55", "26.85"}}}},
    {7,
     "WMT with E18D18 models",
     {"Method"},
     wmt_years(18),
     {{{"Pre-LN"},
       "pre-ln",
       "",
       {"24.07", "21.98", "22.4", "26.28", "27.36", "29.74", "34.16", "26.57"}},
      {{"Post-LN"}, "post-ln", "", {"", "", "", "", "", "", "", "Fail"}},
      {{"DLCL"},
       "dlcl",
       "",
       {"24.20", "22.51", "22.83", "26.59", "27.97", "30.24", "33.98", "26.90"}},
      {{"T-Fixup"},
       "t-fixup",
       "",
       {"24.45", "22.29", "22.76", "26.57", "27.71", "30.13", "34.69", "26.94"}},
      {{"DeepNet"},
       "deepnorm",
       "",
       {"24.70", "22.40", "22.92", "26.85", "28.21", "30.60", "34.25", "27.13"}},
      {{"Admin"},
       "admin",
       "",
       {"24.56", "22.17", "22.62", "26.48", "27.99", "30.35", "33.88", "26.86"}},
      {{"B2T"},
       "b2t",
       "",
       {"24.62", "22.51", "22.86", "26.74", "28.48", "30.99", "34.93", "27.30"}},
      {{"ResiDual"},
       "resi-dual",
       "",
       {"24.85", "22.76", "23.18", "27.60", "28.79", "31.12", "35.24", "27.65"}}}},
    {8,
     "IWSLT with different learning-rate schedulers",
     {"Method", "Warm-up", "Decay Formula"},
     kIwsltDepths,
     {{{"Post-LN", "Yes", "Inverse Square Root"}, "post-ln", "warmup", {"35.37", "Fail"}},
      {{"Post-LN", "No", "Inverse Square Root"}, "post-ln", "no-warmup", {"Fail", "Fail"}},
      {{"Post-LN", "No", "Linear"}, "post-ln", "linear", {"Fail", "Fail"}},
      {{"Pre-LN", "Yes", "Inverse Square Root"}, "pre-ln", "warmup", {"35.12", "35.18"}},
      {{"Pre-LN", "No", "Inverse Square Root"}, "pre-ln", "no-warmup", {"32.28", "31.82"}},
      {{"Pre-LN", "No", "Linear"}, "pre-ln", "linear", {"32.26", "31.85"}},
      {{"ResiDual", "Yes", "Inverse Square Root"}, "resi-dual", "warmup", {"35.63", "36.09"}},
      {{"ResiDual", "No", "Inverse Square Root"}, "resi-dual", "no-warmup", {"35.76", "35.57"}},
      {{"ResiDual", "No", "Linear"}, "resi-dual", "linear", {"35.96", "35.72"}}}},
};

}  // namespace

const PaperTable* find_table(int64_t number) {
  const auto found = std::ranges::find(kTables, number, &PaperTable::number);
  return found == kTables.end() ? nullptr : &*found;
}

std::vector<int64_t> table_numbers() {
  std::vector<int64_t> numbers;
  for (const auto& table : kTables) numbers.push_back(table.number);
  return numbers;
}

}  // namespace residual::study
