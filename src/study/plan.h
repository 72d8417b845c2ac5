#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/config.h"
#include "run/config.h"

// An experiment plan: schemes x depths x schedules x seeds over one prepared corpus. Each
// combination is one training run, a cell.
namespace residual::study {

// The weights of a run that are scored.
enum class ScoredWeights { last, best, average };
constexpr auto names(ScoredWeights) { return std::array{"last", "best", "average"}; }

struct SchemePlan {
  std::string name, variant;
  std::string label;                   // in tables; default: name and variant
  std::vector<std::string> recipes;    // instead of the plan's: one, or one for each depth
  std::vector<std::string> settings;   // KEY=VALUE
  std::vector<std::string> schedules;  // by name; empty: all
};

std::string label_of(const SchemePlan& scheme);  // the label, or "admin, log"

struct SchedulePlan {
  std::string name;
  std::vector<std::string> settings;
};

// Raw text to score besides, or instead of, the corpus's test sets.
struct TestPlan {
  std::string name, source, reference;  // a column's title, two files
  std::string direction;                // "en-de"; empty: the corpus's only one
  // NaN: load_plan() replaces it by the value of [evaluate].
  double length_penalty = std::numeric_limits<double>::quiet_NaN();
};

struct EvaluatePlan {
  ScoredWeights model = ScoredWeights::last;
  int64_t average_epochs = 10;
  int64_t beam = 5;
  double length_penalty = 1;
  std::string tokenizer = "13a";
  int64_t samples = 1000;  // samples of the bootstrap
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
  std::string baseline;  // the scheme that others are compared with
  int64_t probe_every = 0;
  int64_t jobs = 1;
  EvaluatePlan evaluate;

  fs::path file;  // the plan's file
  std::string name() const { return file.stem(); }
};
void fields(ConfigVisitor& visit, SchemePlan& scheme);
void fields(ConfigVisitor& visit, SchedulePlan& schedule);
void fields(ConfigVisitor& visit, TestPlan& test);
void fields(ConfigVisitor& visit, EvaluatePlan& evaluate);
void fields(ConfigVisitor& visit, Plan& plan);

// Reads a plan and the plans it extends, lets `change` override keys, and checks the result.
// Unknown schemes, names that cannot be part of a file name, and unknown tables are errors that
// name the key.
Plan load_plan(const fs::path& file, const std::function<void(Plan&)>& change = nullptr);

// Applies --set KEY=VALUE. Values of the key `set` are appended to the plan's own.
void overrule(Plan& plan, const std::vector<std::string>& settings);

// One training run.
struct Cell {
  std::string name;                      // "resi-dual-e6d6-warmup-s1", also its directory's name
  size_t scheme, depth, schedule, seed;  // indices into the plan's lists
  std::vector<std::string> arguments;    // arguments of `residual`, up to the run's directory
  run::TrainConfig config;               // the resulting configuration
};

// Returns all cells by depth, then seed, schedule and scheme, so that short runs come first. Reads
// the recipes.
std::vector<Cell> expand(const Plan& plan);

}  // namespace residual::study
