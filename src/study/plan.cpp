#include "study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "decode/options.h"
#include "schemes/registry.h"
#include "study/paper.h"

namespace residual::study {
std::string label_of(const SchemePlan& scheme) {
  if (!scheme.label.empty()) return scheme.label;
  return scheme.variant.empty() ? scheme.name : scheme.name + ", " + scheme.variant;
}

namespace {

void require_plain_name(const Plan& plan, const char* key, const std::string& name) {
  const bool plain = !name.empty() && name[0] != '-' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  require(plain, "{}: {}: \"{}\" is used in file names: letters, digits, - _ . only",
          plan.file.string(), key, name);
}

void check_lists(const Plan& plan) {
  const std::string where = plan.file.string();
  require(!plan.schemes.empty(), "{}: has no [[schemes]]", where);
  require(!plan.depths.empty(), "{}: depths: is empty; give layers per stack, such as [6, 12]",
          where);
  require(!plan.seeds.empty(), "{}: seeds: is empty", where);
  for (const int64_t depth : plan.depths) {
    require(depth > 0, "{}: depths: expected at least 1 layer, got {}", where, depth);
  }
  for (const int64_t seed : plan.seeds) {
    require(seed >= 0, "{}: seeds: expected 0 or more, got {}", where, seed);
  }
  for (const auto& scheme : plan.schemes) {
    // An unknown name or variant is an error, with a suggestion.
    schemes::resolve({.name = scheme.name, .variant = scheme.variant});
    require(scheme.recipes.size() <= 1 || scheme.recipes.size() == plan.depths.size(),
            "{}: schemes: {} has {} recipes for {} depths; give one, or one for each", where,
            scheme.name, scheme.recipes.size(), plan.depths.size());
    require(!scheme.recipes.empty() || !plan.recipe.empty(),
            "{}: recipe: is empty, and {} has no recipes", where, scheme.name);
  }
}

void check_schedules(const Plan& plan) {
  const std::string where = plan.file.string();
  for (const auto& schedule : plan.schedules) {
    require_plain_name(plan, "schedules.name", schedule.name);
  }
  for (const auto& scheme : plan.schemes) {
    for (const auto& name : scheme.schedules) {
      require(std::ranges::count(plan.schedules, name, &SchedulePlan::name) == 1,
              "{}: schemes: {} asks for the schedule \"{}\", which is not one of [[schedules]]",
              where, scheme.name, name);
    }
  }
}

void check(const Plan& plan) {
  check_lists(plan);
  check_schedules(plan);
  const std::string where = plan.file.string();
  for (const int64_t table : plan.tables) {
    require(find_table(table) != nullptr,
            "{}: tables: the paper's tables of results are {}; got {}", where,
            fmt::join(table_numbers(), ", "), table);
  }
  const bool known =
      plan.baseline.empty() || std::ranges::any_of(plan.schemes, [&](const SchemePlan& s) {
        return s.name == plan.baseline;
      });
  require(known, "{}: baseline: {} is not one of the schemes", where, plan.baseline);
  std::set<std::string> names;
  for (const auto& test : plan.evaluate.tests) {
    require_plain_name(plan, "evaluate.tests.name", test.name);
    require(names.insert(test.name).second, "{}: evaluate.tests.name: {} appears twice", where,
            test.name);
    require(std::abs(test.length_penalty) <= kSteepestPenalty,
            "{}: evaluate.tests.length_penalty: expected {} to {}, got {}", where,
            -kSteepestPenalty, kSteepestPenalty, test.length_penalty);
  }
}

// A variant of a scheme is a separate cell.
std::string cell_name(const Plan& plan, const Cell& cell) {
  const SchemePlan& scheme = plan.schemes[cell.scheme];
  std::string name = scheme.name;
  if (!scheme.variant.empty()) name += "-" + scheme.variant;
  name += "-" + depth_id(cell.config.model.kind, plan.depths[cell.depth]);
  if (!plan.schedules.empty()) name += "-" + plan.schedules[cell.schedule].name;
  return name + fmt::format("-s{}", plan.seeds[cell.seed]);
}

// Resolves a path relative to the plan's directory.
fs::path recipe_of(const Plan& plan, const Cell& cell) {
  const auto& own = plan.schemes[cell.scheme].recipes;
  const std::string& file = own.empty() ? plan.recipe : own[own.size() == 1 ? 0 : cell.depth];
  return (plan.file.parent_path() / file).lexically_normal();
}

std::vector<std::string> settings_of(const Plan& plan, const Cell& cell) {
  const SchemePlan& scheme = plan.schemes[cell.scheme];
  std::vector<std::string> all = {"model.residual.name=" + scheme.name};
  if (!scheme.variant.empty()) all.push_back("model.residual.variant=" + scheme.variant);
  // A language model has no encoder, a masked model no decoder.
  const int64_t layers = plan.depths[cell.depth];
  const model::Config& m = cell.config.model;
  all.push_back(fmt::format("model.encoder_layers={}", m.has_encoder() ? layers : 0));
  all.push_back(fmt::format("model.decoder_layers={}", m.has_decoder() ? layers : 0));
  all.push_back(fmt::format("batch.seed={}", plan.seeds[cell.seed]));  // a plan may fix the order
  const auto add = [&](const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(plan.settings);
  add(scheme.settings);
  if (!plan.schedules.empty()) add(plan.schedules[cell.schedule].settings);
  all.push_back(fmt::format("train.seed={}", plan.seeds[cell.seed]));
  return all;
}

bool is_wanted(const Plan& plan, size_t scheme, size_t schedule) {
  const auto& only = plan.schemes[scheme].schedules;
  return only.empty() || std::ranges::count(only, plan.schedules[schedule].name) > 0;
}

void complete(const Plan& plan, Cell& cell) {
  const fs::path recipe = recipe_of(plan, cell);
  read_layered_config(recipe, cell.config);
  const auto settings = settings_of(plan, cell);
  cell.name = cell_name(plan, cell);
  cell.arguments = {"train", recipe.string()};
  if (!plan.corpus.empty()) {
    cell.arguments.insert(cell.arguments.end(), {"--data", plan.corpus});
  }
  for (const auto& setting : settings) {
    cell.arguments.insert(cell.arguments.end(), {"--set", setting});
  }
  if (!plan.corpus.empty()) cell.config.data.prepared = plan.corpus;
  apply_settings<run::TrainConfig>(settings, cell.config);
  run::check(cell.config);
  const auto& c = cell.config;
  require(c.validate.every_updates + c.validate.every_epochs > 0,
          "{}: {}: never validates, so its convergence cannot be judged; set "
          "validate.every_epochs",
          plan.file.string(), cell.name);
  require(plan.evaluate.model != ScoredWeights::average ||
              c.checkpoint.keep_epochs >= plan.evaluate.average_epochs,
          "{}: {}: the mean of {} epochs is to be scored, but checkpoint.keep_epochs is {}",
          plan.file.string(), cell.name, plan.evaluate.average_epochs, c.checkpoint.keep_epochs);
}

void require_one_corpus(const Plan& plan, const Cell& a, const Cell& b) {
  require(a.config.model.kind == b.config.model.kind,
          "{}: {} and {} are models of different kinds; a study compares models of one kind",
          plan.file.string(), a.name, b.name);
  require(a.config.data.prepared == b.config.data.prepared,
          "{}: {} trains on {}, {} on {}; a study compares models of one corpus",
          plan.file.string(), a.name, a.config.data.prepared, b.name, b.config.data.prepared);
}

}  // namespace

Plan load_plan(const fs::path& file, const std::function<void(Plan&)>& change) {
  Plan plan;
  plan.file = file;
  read_layered_config(file, plan);
  if (change) change(plan);
  for (auto& test : plan.evaluate.tests) {
    if (std::isnan(test.length_penalty)) test.length_penalty = plan.evaluate.length_penalty;
  }
  check(plan);
  return plan;
}

void overrule(Plan& plan, const std::vector<std::string>& settings) {
  for (const auto& setting : settings) {
    std::vector<std::string> all = std::exchange(plan.settings, {});
    apply_settings<Plan>({&setting, 1}, plan);
    all.insert(all.end(), plan.settings.begin(), plan.settings.end());
    plan.settings = std::move(all);
  }
}

std::string depth_name(model::Kind kind, int64_t layers) {
  const model::Config config{.kind = kind};
  std::string name;
  if (config.has_encoder()) name += fmt::format("E{}", layers);
  if (config.has_decoder()) name += fmt::format("D{}", layers);
  return name;
}

std::string depth_id(model::Kind kind, int64_t layers) {
  std::string id = depth_name(kind, layers);
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id;
}

std::vector<Cell> expand(const Plan& plan) {
  std::vector<Cell> cells;
  std::set<std::string> names;
  const size_t schedules = std::max<size_t>(1, plan.schedules.size());
  for (size_t d = 0; d < plan.depths.size(); ++d) {
    for (size_t s = 0; s < plan.seeds.size(); ++s) {
      for (size_t q = 0; q < schedules; ++q) {
        for (size_t r = 0; r < plan.schemes.size(); ++r) {
          if (!is_wanted(plan, r, q)) continue;
          cells.push_back({.name = "", .scheme = r, .depth = d, .schedule = q, .seed = s});
          complete(plan, cells.back());
          require(names.insert(cells.back().name).second, "{}: two cells would be called {}",
                  plan.file.string(), cells.back().name);
          require_one_corpus(plan, cells.front(), cells.back());
        }
      }
    }
  }
  return cells;
}

}  // namespace residual::study
