// residual study: trains the runs of an experiment plan, scores them and writes a report.

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "base/log.h"
#include "cli/command.h"
#include "study/report.h"
#include "study/runner.h"
#include "study/runs_csv.h"

namespace residual::cli {
namespace {

// The part of a study that this process runs: every `of`-th run, from the `number`-th on.
struct Shard {
  size_t number = 1, of = 1;
};

struct Options {
  fs::path plan, output;
  std::vector<std::string> settings;  // --set, in the order given
  std::vector<fs::path> known;
  Shard shard;
  int jobs = 0;  // 0: as the plan says
  bool dry_run = false;
  bool report = false;
  bool explain = false;
};

Shard parse_shard(const std::string& text) {
  Shard shard;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), shard.number);
  const char* const end = text.data() + text.size();
  if (error == std::errc() && at != end && *at == '/') {
    const auto [stop, second] = std::from_chars(at + 1, end, shard.of);
    if (second == std::errc() && stop == end && shard.number >= 1 && shard.number <= shard.of) {
      return shard;
    }
  }
  throw CLI::ValidationError("--shard", fmt::format("expected I/N with 1 <= I <= N, such as 2/4, "
                                                    "found \"{}\"",
                                                    text));
}

// Removes the runs of other shards, and marks known ones as done.
std::vector<study::Work> own_part(std::vector<study::Work> work, const Shard& shard,
                                  const study::KnownRuns& known) {
  std::vector<study::Work> own;
  for (size_t i = shard.number - 1; i < work.size(); i += shard.of) {
    if (known.contains(work[i].cell.name)) {
      work[i].action = study::Action::nothing;
      work[i].done = 1;
    }
    own.push_back(std::move(work[i]));
  }
  return own;
}

const char* name_of(study::Action action) {
  switch (action) {
    case study::Action::nothing:
      return "done";
    case study::Action::resume:
      return "resume";
    case study::Action::start:
      break;
  }
  return "start";
}

void run(Options o) {
  if (o.explain) {
    fmt::print("{}", explain_config<study::Plan>());
    return;
  }
  if (o.plan.empty()) throw CLI::RequiredError("PLAN");
  require_recipe(o.plan);
  const study::Plan plan = study::load_plan(
      o.plan, [&](study::Plan& p) { check_typed([&] { study::overrule(p, o.settings); }); });
  if (o.output.empty()) o.output = fs::path("studies") / plan.name();
  study::RunnerOptions runner{.output = o.output,
                              .jobs = o.jobs > 0 ? o.jobs : static_cast<int>(plan.jobs),
                              .program = o.dry_run ? "residual" : "/proc/self/exe"};
  const auto known = study::read_runs_csv(o.known);
  const auto work = own_part(study::look(plan, runner), o.shard, known);
  if (o.dry_run) {
    for (const auto& item : work) {
      fmt::print("{}: {}\n", item.cell.name, name_of(item.action));
      if (item.action != study::Action::nothing)
        fmt::print("  {}\n", study::shell_line(item.command));
    }
    return;
  }
  const int code = o.report || work.empty() ? 0 : study::run(plan, work, runner);
  const auto findings = study::gather(plan, study::look(plan, runner), o.output, known);
  log::info("report: {}", (study::write_report(findings) / "report.html").string());
  if (code != 0) throw CLI::RuntimeError(code);
}

}  // namespace

void add_study(CLI::App& root) {
  CLI::App* command = add_command(
      root, "study", "Train and compare the runs of an experiment plan, and write a report",
      {"residual study recipes/studies/small-warmup.toml",
       "# list the runs and which of them are left",
       "residual study recipes/studies/iwslt14.toml --dry-run"});
  auto options = std::make_shared<Options>();
  command->add_option("plan", options->plan, "experiment plan, a TOML file; see --explain")
      ->transform(installed_recipe)
      ->type_name("PLAN");
  command
      ->add_option("-o,--output", options->output,
                   "directory for runs, results and report (default: studies/ and the plan's name)")
      ->type_name("DIR");
  command
      ->add_option("--set", options->settings,
                   "override a key of the plan; repeatable; `set` extends the plan's list")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command->add_option("-j,--jobs", options->jobs, "number of runs in parallel; overrides the plan")
      ->check(whole(1, 1024))
      ->type_name("N");
  command
      ->add_option("--known", options->known,
                   "runs.csv of another report of this plan: its runs count as done; repeatable")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--shard", [options](const std::string& text) { options->shard = parse_shard(text); },
          "run only part I of N of the runs, for N machines or the tasks of a Slurm array")
      ->type_name("I/N");
  command->add_flag("-n,--dry-run", options->dry_run,
                    "print every run, whether it is done, and the command that trains it");
  command->add_flag("--report", options->report,
                    "write the report of the finished runs; run nothing");
  command->add_flag("--explain", options->explain, "print every key of a plan with its meaning");
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
