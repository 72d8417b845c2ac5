#include "cli/probe_run.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"

namespace residual::cli {
namespace {

std::set<report::Format> formats_of(const ProbeCommand& command) {
  static const std::map<std::string, report::Format> kNames = {{"html", report::Format::html},
                                                               {"csv", report::Format::csv},
                                                               {"json", report::Format::json},
                                                               {"svg", report::Format::svg}};
  std::set<report::Format> formats;
  for (const auto& name : command.formats) formats.insert(kNames.at(name));
  return formats;
}

report::Report make_report(const ProbeCommand& command) {
  switch (command.what) {
    case ProbeCommand::What::models:
      return probe::probe_models(command.models);
    case ProbeCommand::What::theory:
      return probe::probe_theory(command.theory);
    case ProbeCommand::What::adam:
      break;
  }
  return probe::probe_adam(command.adam);
}

}  // namespace

void run_probe(const ProbeCommand& command) {
  if (command.what == ProbeCommand::What::adam) {
    fmt::print("{}", probe::adam_table(command.adam));
    if (command.output.empty()) return;
  }
  require_writable(command.output);
  const auto formats = formats_of(command);
  const report::Report report = make_report(command);
  report::write_report(report, formats, command.output);
  log::info(
      "{} figures in {}", report.figures.size(),
      (command.output / (formats.contains(report::Format::html) ? "report.html" : "")).string());
}

}  // namespace residual::cli
