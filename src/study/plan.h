#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/config.h"
#include "run/config.h"

// An experiment plan: schemes x depths x schedules x seeds over one prepared corpus, and what is
// made of it: one training run for each combination, a cell.
namespace residual::study {

// Which weights of a run are scored.
enum class Choice { last, best, average };
constexpr auto names(Choice) { return std::array{"last", "best", "average"}; }

struct SchemePlan {
  std::string name, variant;
  std::string label;                   // in tables; its name and variant unless given
  std::vector<std::string> recipes;    // instead of the plan's: one, or one for each depth
  std::vector<std::string> settings;   // KEY=VALUE
  std::vector<std::string> schedules;  // by name; none: all
};

std::string label_of(const SchemePlan& scheme);  // "admin, log" unless it has one

struct SchedulePlan {
  std::string name;
  std::vector<std::string> settings;
};

// Raw text to be scored besides, or instead of, the corpus's own test sets.
struct TestPlan {
  std::string name, source, reference;  // a column's title, two files
  std::string direction;                // "en-de"; empty: the corpus's only one
  // NaN until the plan is loaded: that of [evaluate].
  double length_penalty = std::numeric_limits<double>::quiet_NaN();
};

struct EvaluatePlan {
  Choice model = Choice::last;
  int64_t average_epochs = 10;
  int64_t beam = 5;
  double length_penalty = 1;
  std::string tokenizer = "13a";
  int64_t samples = 1000;  // of the bootstrap
  std::vector<TestPlan> tests;
};

struct Plan {
  std::string description;
  std::vector<int64_t> tables;  // of the ResiDual paper
  std::string corpus;
  std::string recipe;
  std::vector<std::string> settings;
  std::vector<SchemePlan> schemes;
  std::vector<int64_t> depths;
  std::vector<SchedulePlan> schedules;
  std::vector<int64_t> seeds = {1};
  std::string baseline;  // a scheme: others are compared with it
  int64_t probe_every = 0;
  int64_t jobs = 1;
  EvaluatePlan evaluate;

  fs::path file;  // where it was read from
  std::string name() const { return file.stem(); }
};
void fields(ConfigVisitor& visit, SchemePlan& scheme);
void fields(ConfigVisitor& visit, SchedulePlan& schedule);
void fields(ConfigVisitor& visit, TestPlan& test);
void fields(ConfigVisitor& visit, EvaluatePlan& evaluate);
void fields(ConfigVisitor& visit, Plan& plan);

// Reads a plan, with those it extends, lets `change` overrule keys of it, and checks it: unknown
// schemes, names that cannot be part of a file name, tables that do not exist are errors that name
// the key.
Plan load_plan(const fs::path& file, const std::function<void(Plan&)>& change = nullptr);

// --set KEY=VALUE of each. Of `set` itself the values follow the plan's own.
void overrule(Plan& plan, const std::vector<std::string>& settings);

// One training run.
struct Cell {
  std::string name;                      // "resi-dual-e6d6-warmup-s1", and its directory's
  size_t scheme, depth, schedule, seed;  // places in the plan's lists
  std::vector<std::string> arguments;    // of `residual`, up to the run's directory
  run::TrainConfig config;               // what they amount to
};

// All cells, in an order in which short runs come first: by depth, then seed, schedule and scheme.
// Reads the recipes.
std::vector<Cell> expand(const Plan& plan);

}  // namespace residual::study
