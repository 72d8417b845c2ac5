#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/config.h"
#include "decode/options.h"
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
inline void fields(ConfigVisitor& visit, SchemePlan& s) {
  visit("name", s.name, "the residual scheme; `residual schemes` lists them");
  visit("variant", s.variant, "variant of the scheme; empty: its first");
  visit("label", s.label, "label in tables; default: name and variant");
  visit("recipes", s.recipes, "instead of the plan's recipe: one file, or one for each depth");
  visit("set", s.settings, "keys of the recipe that this scheme changes, KEY=VALUE");
  visit("schedules", s.schedules, "names of the schedules to run with; empty: all");
}

std::string label_of(const SchemePlan& scheme);  // the label, or "admin, log"

struct SchedulePlan {
  std::string name;
  std::vector<std::string> settings;
};
inline void fields(ConfigVisitor& visit, SchedulePlan& s) {
  visit("name", s.name, "part of the runs' names; tables 5 and 8 know warmup, no-warmup, linear");
  visit("set", s.settings, "keys of the recipe that this schedule sets, KEY=VALUE");
}

// Raw text to score besides, or instead of, the corpus's test sets.
struct TestPlan {
  std::string name, source, reference;  // a column's title, two files
  std::string direction;                // "en-de"; empty: the corpus's only one
  // NaN: load_plan() replaces it by the value of [evaluate].
  double length_penalty = std::numeric_limits<double>::quiet_NaN();
};
inline void fields(ConfigVisitor& visit, TestPlan& t) {
  visit("name", t.name, "title of its column; tables 6 and 7 know 2010 to 2016");
  visit("source", t.source, "raw text, one sentence per line");
  visit("reference", t.reference, "its translation, line by line");
  visit("direction", t.direction, "such as en-de; optional if the corpus has only one");
  visit("length_penalty", t.length_penalty, "for this text; nan: that of [evaluate]");
}

inline constexpr double kSteepestPenalty = 100;  // of lengths; the same limit as in decode

struct EvaluatePlan {
  ScoredWeights model = ScoredWeights::last;
  int64_t average_epochs = 10;
  int64_t beam = 5;
  double length_penalty = 1;
  std::string tokenizer = "13a";
  int64_t samples = 1000;  // samples of the bootstrap
  std::vector<TestPlan> tests;
};
inline void fields(ConfigVisitor& visit, EvaluatePlan& e) {
  visit.choice("model", e.model,
               "weights that are scored: after the last update, of the best validation, or the "
               "mean over the last epochs");
  visit("average_epochs", e.average_epochs, "number of epochs of the mean", {.min = 1});
  visit("beam", e.beam, "hypotheses kept while translating",
        {.min = 1, .max = static_cast<double>(decode::kWidestBeam)});
  visit("length_penalty", e.length_penalty, "for every test set that does not set one",
        {.min = -kSteepestPenalty, .max = kSteepestPenalty});
  visit("tokenize", e.tokenizer,
        "BLEU's tokens: none, 13a, intl, char or zh; or corpus: those of the prepared text, "
        "without smoothing, as fairseq-generate and multi-bleu.perl score them");
  visit("samples", e.samples, "test sets drawn by the paired bootstrap", {.min = 10});
  visit.tables("tests", e.tests, "texts to score instead of the test sets of the corpus");
}

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
inline void fields(ConfigVisitor& visit, Plan& p) {
  visit("description", p.description, "description of the study");
  visit("tables", p.tables, "tables of the ResiDual paper to compare with in the report");
  visit("corpus", p.corpus, "directory that `residual prepare` made; empty: the recipe's");
  visit("recipe", p.recipe, "recipe of all runs, relative to the plan's directory");
  visit("set", p.settings, "keys of the recipe that all runs change, KEY=VALUE");
  visit("depths", p.depths, "layers of the encoder and of the decoder");
  visit("seeds", p.seeds,
        "of initial values, dropout and the order of batches; results are averaged over seeds");
  visit("baseline", p.baseline, "scheme that the others are compared with");
  visit("probe_every", p.probe_every,
        "updates between the lines that `residual train --probe` records; 0: none", {.min = 0});
  visit("jobs", p.jobs, "runs in parallel", {.min = 1, .max = 1024});
  visit.tables("schemes", p.schemes, "residual schemes");
  visit.tables("schedules", p.schedules, "schedules of the learning rate; none: the recipe's");
  visit.table("evaluate", p.evaluate, "how runs are scored");
}

// Reads a plan and the plans it extends, lets `change` override keys, and checks the result.
// Unknown schemes, names that cannot be part of a file name, and unknown tables are errors that
// name the key.
Plan load_plan(const fs::path& file, const std::function<void(Plan&)>& change = nullptr);

// Applies --set KEY=VALUE. Values of the key `set` are appended to the plan's own.
void overrule(Plan& plan, const std::vector<std::string>& settings);

// The name of a depth: "E6D6", for language models "D6", for masked models "E6". In names of files:
// "e6d6".
std::string depth_name(model::Kind kind, int64_t layers);
std::string depth_id(model::Kind kind, int64_t layers);

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
