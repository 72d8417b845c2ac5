// residual report: draws the curves of one training run or compares several.

#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/log.h"
#include "cli/command.h"
#include "review/review.h"
#include "review/summary.h"

namespace residual::cli {
namespace {

struct Options {
  std::vector<fs::path> runs;
  fs::path output;
};

// Gives runs of the same name longer ones, with the directories above.
void name_apart(std::vector<review::Records>& runs) {
  std::map<std::string, int> count;
  for (const auto& run : runs) ++count[run.name];
  for (auto& run : runs) {
    if (count[run.name] > 1) run.name = run.path.lexically_normal();
  }
}

std::string text_of(const report::Report& report, const fs::path& output) {
  const std::string form = output.extension();
  if (form == ".html") return report::to_html(report);
  if (form == ".md") return report::to_markdown(report);
  if (form == ".json") return report::to_json(report);
  throw CLI::ValidationError(
      "--output", fmt::format("expected a name that ends with .html, .md or .json, got \"{}\"",
                              output.string()));
}

void run(const Options& options) {
  std::vector<review::Records> runs;
  for (const fs::path& path : options.runs) runs.push_back(review::read_records(path));
  name_apart(runs);
  const bool is_one = runs.size() == 1;
  const fs::path output = !options.output.empty() ? options.output
                          : is_one                ? options.runs[0] / "report.html"
                                                  : "report.html";
  const std::string text =
      text_of(is_one ? review::report_of(runs[0]) : review::compare(runs), output);
  for (const auto& records : runs) {
    const review::Summary summary = review::summary_of(records);
    fmt::print("{}: {}\n", summary.name, review::describe(summary));
    for (const auto& finding : summary.findings) {
      fmt::print("  {}: {}\n", finding.severity == review::Severity::problem ? "warning" : "note",
                 finding.text);
    }
  }
  replace_file(output, text);
  log::info("report: {}", output.string());
}

}  // namespace

void add_report(CLI::App& root) {
  CLI::App* command =
      add_command(root, "report", "Draw the curves of a training run, or compare several runs",
                  {"residual report runs/iwslt14", "# several runs in the same charts",
                   "residual report runs/a runs/b runs/c -o comparison.html"});
  auto options = std::make_shared<Options>();
  command->add_option("run", options->runs, "directory of a training run; repeatable")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("-o,--output", options->output,
                   "report to write, as a page, as Markdown or as JSON by its ending .html, .md or "
                   ".json (default: RUN/report.html of one run, report.html of several)")
      ->type_name("FILE");
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
