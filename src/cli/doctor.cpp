// residual doctor: checks the machine and the installation, and suggests fixes.

#include "doctor/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/version.h"
#include "cli/command.h"

namespace residual::cli {
namespace {

using doctor::Check;
using doctor::Status;

struct Options {
  bool quick = false;
  bool json = false;
  std::string device;  // checks only this one; empty: the machine
};

std::vector<Check> checks(const Options& o) {
  std::vector<Check> all = {
      {.name = "program",
       .found = fmt::format("residual {} ({}), {}", version(), commit(), compiler())},
      {.name = "libraries", .found = library_versions()}};
  const auto add = [&](std::vector<Check> more) {
    for (auto& check : more) all.push_back(std::move(check));
  };
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  if (!o.device.empty()) {
    add(doctor::check_device(self, o.device));
    return all;
  }
  add(doctor::check_machine());
  if (!o.quick) add(doctor::self_test());
  add(doctor::check_training(self, !o.quick));
  return all;
}

const char* word(Status status) {
  return status == Status::ok ? "ok" : status == Status::note ? "note" : "problem";
}

void print_text(const std::vector<Check>& all, bool quick) {
  for (const Check& check : all) {
    fmt::print("{:<8} {:<13} {}\n", word(check.status), check.name, check.found);
    if (!check.fix.empty()) fmt::print("{:<22} -> {}\n", "", check.fix);
  }
  const auto count = [&](Status status) { return std::ranges::count(all, status, &Check::status); };
  const auto problems = count(Status::problem), notes = count(Status::note);
  fmt::print("{}\n", problems > 0 ? fmt::format("{} to fix: see ->", problems)
                     : notes > 0  ? "no problem found; the notes suggest improvements"
                     : quick      ? "no problem found; --quick skipped the self-test"
                                  : "everything works");
}

void print_json(const std::vector<Check>& all, bool works) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Check& check : all) {
    list.push_back({{"name", check.name},
                    {"status", word(check.status)},
                    {"found", check.found},
                    {"fix", check.fix},
                    {"figures", check.figures}});
  }
  const nlohmann::ordered_json report = {{"works", works}, {"checks", list}};
  fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void run(const Options& o) {
  const auto all = checks(o);
  const bool works =
      std::ranges::none_of(all, [](const Check& check) { return check.status == Status::problem; });
  if (o.json) {
    print_json(all, works);
  } else {
    print_text(all, o.quick);
  }
  if (!works) throw CLI::RuntimeError(1);
}

}  // namespace

void add_doctor(CLI::App& root) {
  CLI::App* command =
      add_command(root, "doctor",
                  "Check the machine, libraries and training with a self-test, and suggest fixes",
                  {"residual doctor", "# without the self-test, in milliseconds",
                   "residual doctor --quick", "residual doctor --json",
                   "# whether training computes on a GPU what it computes on a CPU",
                   "residual doctor --device cuda"});
  auto options = std::make_shared<Options>();
  const std::string group = "Checks";
  command->add_flag("--quick", options->quick, "skip the self-test")->group(group);
  command->add_flag("--json", options->json, "print one JSON object, with all measurements")
      ->group(group);
  command
      ->add_option("--device", options->device,
                   "check only training on this device, cpu, cuda or cuda:N: the first updates of "
                   "every residual scheme against those on the CPU")
      ->type_name("DEVICE")
      ->group(group);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
