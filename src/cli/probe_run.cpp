#include "cli/probe_run.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"

namespace residual::cli {
namespace {

std::set<probe::Format> formats_of(const ProbeCommand& command) {
  static const std::map<std::string, probe::Format> kNames = {{"html", probe::Format::html},
                                                              {"csv", probe::Format::csv},
                                                              {"json", probe::Format::json},
                                                              {"svg", probe::Format::svg}};
  std::set<probe::Format> formats;
  for (const auto& name : command.formats) formats.insert(kNames.at(name));
  return formats;
}

probe::Report make_report(const ProbeCommand& command) {
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
  const probe::Report report = make_report(command);
  probe::write_report(report, formats, command.output);
  log::info(
      "{} figures in {}", report.figures.size(),
      (command.output / (formats.contains(probe::Format::html) ? "report.html" : "")).string());
}

}  // namespace residual::cli
