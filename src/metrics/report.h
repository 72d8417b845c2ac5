#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/metric.h"
#include "metrics/significance.h"

// Scores as text and JSON in the layout of sacreBLEU's command.
namespace residual::metrics {

struct ReportOptions {
  int width = 1;             // digits after the point
  bool score_only = false;   // no name, signature or details
  bool abbreviated = false;  // the short form of signatures
  bool json = false;
};

// The result of one metric for one system or sentence.
struct ScoreReport {
  std::string name;
  double score;
  std::string details;
  Signature signature;
  std::optional<Interval> confidence = {};
};

// Returns "BLEU|nrefs:1|... = 83.5 92.4/88.3/82.5/75.4 (BP = ...)", or a JSON object on one line
// or, if `indented`, on several.
std::string format_score(const ScoreReport& report, const ReportOptions& options, bool indented);

// Formats several metrics of one system: lines aligned at '=', or one JSON text.
std::string format_scores(const std::vector<ScoreReport>& reports, const ReportOptions& options);

// A table of several systems has one column per metric.
struct Column {
  std::string metric;
  Signature signature;
  std::vector<Result> results;  // by system
};
std::string format_systems(const std::vector<std::string>& systems,
                           const std::vector<Column>& columns, const ReportOptions& options);

}  // namespace residual::metrics
