#include "study/runs_csv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "run/run_directory.h"

namespace residual::study {
namespace {

constexpr const char* kHead =
    "run,scheme,variant,encoder_layers,decoder_layers,schedule,peak,seed,updates,converged,"
    "dev_perplexity,bleu,seconds,commit,word_frequencies,dev_curve";
constexpr size_t kIdentity = 8;  // the leading columns that identity_of() writes
constexpr size_t kColumns = 16;

// The dev perplexity at each validation: "500:181.2 1000:97.4".
std::string curve_text(const report::Series& nll) {
  std::vector<std::string> points;
  for (size_t i = 0; i < nll.x.size(); ++i) {
    points.push_back(fmt::format("{:.0f}:{:.5g}", nll.x[i], std::exp2(nll.y[i])));
  }
  return fmt::format("{}", fmt::join(points, " "));
}

// One line of a file, for errors.
struct Place {
  const fs::path& file;
  int64_t line;
};

double number(const Place& at, const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && stop == end, "{}:{}: expected a number, found \"{}\"",
          at.file.string(), at.line, text);
  return value;
}

report::Series read_curve(const Place& at, const std::string& text) {
  report::Series nll;
  std::istringstream points(text);
  for (std::string point; points >> point;) {
    const size_t colon = point.find(':');
    require(colon != std::string::npos,
            "{}:{}: a point of a curve must be UPDATE:PERPLEXITY, found \"{}\"", at.file.string(),
            at.line, point);
    nll.x.push_back(number(at, point.substr(0, colon)));
    nll.y.push_back(std::log2(number(at, point.substr(colon + 1))));
  }
  return nll;
}

KnownRun read_run(const Place& at, const std::vector<std::string>& cells) {
  KnownRun run{
      .identity = fmt::format("{}", fmt::join(cells.begin(), cells.begin() + kIdentity, ",")),
      .commit = cells[13]};
  require(cells[9] == "true" || cells[9] == "false",
          "{}:{}: `converged` must be true or false, found \"{}\"", at.file.string(), at.line,
          cells[9]);
  Result& result = run.result;
  result.updates = static_cast<int64_t>(number(at, cells[8]));
  result.converged = cells[9] == "true";
  if (!result.converged) result.reason = "did not converge";
  result.dev_nll = std::log2(number(at, cells[10]));
  const double bleu = number(at, cells[11]);
  if (std::isfinite(bleu)) result.scores = {{.test = "all", .bleu = bleu}};
  result.seconds = number(at, cells[12]);
  result.unigram = std::log2(number(at, cells[14]));
  run.record.dev = read_curve(at, cells[15]);
  run.record.updates = result.updates;
  run.record.seconds = result.seconds;
  return run;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

std::string runs_csv(const Findings& all) {
  std::string out = fmt::format("{}\n", kHead);
  for (const auto& finding : all.cells) {
    if (!finding.result) continue;
    const Result& result = *finding.result;
    out += fmt::format("{},{},{},{:.4f},{:.2f},{:.0f},{},{:.4f},{}\n",
                       identity_of(all.plan, finding.work.cell), result.updates, result.converged,
                       std::exp2(result.dev_nll),
                       all.is_translation() ? result.mean() : std::nan(""), result.seconds,
                       finding.commit, std::exp2(result.unigram), curve_text(finding.record.dev));
  }
  return out;
}

KnownRuns read_runs_csv(const std::vector<fs::path>& files) {
  KnownRuns runs;
  std::map<std::string, std::string> lines;
  for (const auto& file : files) {
    std::istringstream text(read_file(file));
    std::string line;
    require(std::getline(text, line) && line == kHead,
            "{}: is not the runs.csv of a study's report: its first line must be \"{}\"",
            file.string(), kHead);
    for (int64_t number = 2; std::getline(text, line); ++number) {
      const auto cells = split(line);
      require(cells.size() == kColumns, "{}:{}: expected {} columns, found {}", file.string(),
              number, kColumns, cells.size());
      const auto [known, added] = lines.emplace(cells[0], line);
      require(added || known->second == line,
              "{}:{}: {} has another result in an earlier line or file; keep one of them",
              file.string(), number, cells[0]);
      runs[cells[0]] = read_run({file, number}, cells);
    }
  }
  return runs;
}

}  // namespace residual::study
